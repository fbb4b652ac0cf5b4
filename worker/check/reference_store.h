// Keeps the reference sets of the workloads in progress in shared memory; children make them. Each
// workload has two sets, one of which is renewed from time to time. The store evicts the least
// recently used ones. Not thread-safe. REQUIRES: the calling process has one thread.
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
  // A set is renewed after this many trials, or later if the reference is slow: renewals add at
  // most 2 ms per trial.
  int64_t renew_trials = 16;
  int makers = 1;  // initial number of children in parallel
  int cpus = 1;    // CPUs that the children share
  // Memory limit of all makers together; a maker of large tensors waits if it would exceed it.
  int64_t maker_bytes = int64_t{8} << 30;
  bool sandbox = true;
};

// The sets of one workload. Its address is stable while the store keeps it.
struct WorkloadData {
  graph::Workload workload;
  std::vector<SharedMemory> sets;
  std::optional<Child> maker;
  std::optional<SharedMemory> made;  // the set that the maker fills
  std::optional<uint64_t> waiting;   // seed of a first set that waits for a maker
  Status failure;                    // failure of the last maker
  int64_t timeout_ms = 0;            // of the maker
  double make_ms = 0;
  int64_t trials = 0;
  int64_t renewed_at = 0;
  int64_t last_use = 0;
  int users = 0;  // trials in progress; the store does not evict it
};

class ReferenceStore {
 public:
  explicit ReferenceStore(ReferenceOptions options) : options_(options) {}

  // The data of the workload. If it has no set, the store starts a maker or queues one. `seed`
  // draws new inputs if they are needed. INVALID_ARGUMENT if the text is not a workload.
  Result<WorkloadData*> Find(const std::string& text, uint64_t seed);
  // The set for the next trial. REQUIRES: there is one.
  const SharedMemory& NextSet(WorkloadData& data);
  // Starts to make a second or newer set if it is due.
  void Renew(WorkloadData& data, uint64_t seed);

  // Adds the descriptors of the makers, for poll().
  void AddTo(std::vector<pollfd>& waiting) const;
  int makers() const;
  // Sets the number of makers that may run in parallel, and starts waiting ones.
  void SetMakers(int most);
  // Takes the sets of finished makers and starts the next makers.
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
