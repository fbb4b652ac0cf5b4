// The reference inputs and results of the workloads under way, made by children and kept in shared
// memory: two sets for each workload, one of which is renewed from time to time. What was not used
// for longest makes room. Not thread-safe. REQUIRES: the calling process has one thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "worker/check/reference.h"

namespace mlc::worker {

struct ReferenceOptions {
  int64_t budget_bytes = int64_t{2} << 30;
  int64_t timeout_ms = 300'000;
  // A set is renewed after this many trials, later for slow references: renewals take at most 2 ms
  // of a trial's time.
  int64_t renew_trials = 16;
  int makers = 1;  // children at a time, to begin with
  int cpus = 1;    // that they share
  // Makers of large tensors wait for each other rather than want more memory than this together.
  int64_t maker_bytes = int64_t{8} << 30;
  bool sandbox = true;
};

// One workload's sets. Stays where it is in memory while the store keeps it.
struct WorkloadData {
  graph::Workload workload;
  std::vector<SharedMemory> sets;
  std::optional<Child> maker;
  std::optional<SharedMemory> made;  // what the maker fills
  std::optional<uint64_t> waiting;   // the seed of a first set that waits for its maker
  Status failure;                    // of the last maker
  int64_t timeout_ms = 0;            // with the maker
  double make_ms = 0;
  int64_t trials = 0;
  int64_t renewed_at = 0;
  int64_t last_use = 0;
  int users = 0;  // trials under way: not forgotten
};

class ReferenceStore {
 public:
  explicit ReferenceStore(ReferenceOptions options) : options_(options) {}

  // The workload's data; its first set is begun, or waits for a maker, if there is none. `seed`
  // draws the inputs if new ones are needed. INVALID_ARGUMENT for text that is no workload.
  Result<WorkloadData*> Find(const std::string& text, uint64_t seed);
  // The set for the next trial. REQUIRES: there is one.
  const SharedMemory& NextSet(WorkloadData& data);
  // Begins a second or a newer set, where it is time for one.
  void Renew(WorkloadData& data, uint64_t seed);

  // For poll(): what the makers report on.
  void AddTo(std::vector<pollfd>& waiting) const;
  int makers() const;
  // How many makers may work at a time; those that wait begin.
  void SetMakers(int most);
  // Takes what finished makers made, and begins the next.
  void Collect();
  void StopMakers();
  void ContinueMakers();

 private:
  bool CanStart(const WorkloadData& data) const;
  build::ChildWork WorkOf(const WorkloadData& data) const;
  void Begin(WorkloadData& data, uint64_t seed);
  void StartQueuedMakers();
  void Finish(WorkloadData& data);
  void MakeRoom(int64_t bytes);

  ReferenceOptions options_;
  std::list<WorkloadData> workloads_;
  int64_t uses_ = 0;
};

}  // namespace mlc::worker
