// The worker without a network: trials in, measurements out. It builds in parallel children, then
// measures what is built with nothing else running, and so on in turns. Single-threaded; its
// children are forked from it, so LLVM is initialised once. Not thread-safe. REQUIRES: the process
// has one thread.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "worker/batch.h"
#include "worker/child.h"
#include "worker/reference_store.h"
#include "worker/trial.h"

namespace mlc::worker {

struct EngineOptions {
  target::Target target;
  int builders = 1;  // build children at a time
  bool sandbox = true;
  int64_t build_timeout_ms = 10'000;
  int64_t run_timeout_ms = 10'000;
  ReferenceOptions references;
};

class Engine {
 public:
  // Warms the compiler up and, where the target has no peaks, measures them: below a second.
  static Result<std::unique_ptr<Engine>> Create(EngineOptions options);

  const target::Target& target() const { return options_.target; }
  // A lock file held while measuring; empty: none.
  void set_gate(std::string path) { gate_ = std::move(path); }

  void Add(Trial trial);
  // Forgets a trial; one that is being measured runs to its end, and its result is dropped.
  void Cancel(const Digest& uid);
  size_t held() const { return jobs_.size(); }

  // Starts what can start and waits for children or for `fd` to become readable (-1: none).
  void Work(int timeout_ms, int fd);
  // Something is built and nothing is building.
  bool ReadyToMeasure() const;
  // Measures everything that is ready. Blocks.
  void Measure();
  // Results since the last call.
  std::vector<TrialResult> TakeResults();

 private:
  enum class Stage { kQueued, kBuilding, kBuilt };
  struct Job {
    Trial trial;
    Stage stage = Stage::kQueued;
    WorkloadData* data = nullptr;
    std::optional<Child> builder;
    BuiltKernel built;
  };
  explicit Engine(EngineOptions options);
  Status Calibrate();
  void StartBuilds();
  bool StartBuild(Job& job);
  void CollectBuilds();
  void FinishBuild(Job& job, bool timed_out);
  void FailUnreferenced();
  bool Ready(const Job& job) const;
  void Finish(Job& job, Measurement measurement);
  void DropFinished();

  EngineOptions options_;
  std::string gate_;
  std::string burst_;
  std::optional<Gauge> gauge_;
  MachineState machine_;
  ReferenceStore references_;
  std::list<Job> jobs_;
  std::vector<TrialResult> results_;
};

}  // namespace mlc::worker
