// The worker without a network: trials in, measurements out. It builds in parallel children. What
// is built for GPUs goes to their runners at once, while the next ones are built. What is built for
// the CPU is measured with nothing else running, in turns with building. Single-threaded; its
// children are forked from it, so that the compilers are initialised once, and it never initialises
// CUDA. Not thread-safe. REQUIRES: the process has one thread.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/child.h"
#include "base/sandbox/child_limits.h"
#include "compiler/target/target.h"
#include "worker/build/shared_cubins.h"
#include "worker/build/trial.h"
#include "worker/check/reference_store.h"
#include "worker/device/fleet/gpu_fleet.h"
#include "worker/device/fleet/gpu_usage.h"
#include "worker/engine/batch.h"
#include "worker/engine/device_time.h"
#include "worker/measure/measurement_gate.h"

namespace mlc::worker {

struct EngineOptions {
  target::Target target;           // the CPU
  bool cpu = true;                 // false: the GPUs only
  std::vector<GpuDevice> gpus;     // from FindGpus()
  std::string cuda_home;           // where CUDA's libraries are; empty: the usual places
  std::string cubin_cache;         // folder of compiled device code; empty: none
  std::string gpu_locks = "/tmp";  // folder of the locks that workers of one host share
  int builders = 1;                // build children at a time
  bool sandbox = true;
  // GPUs whose runners this machine cannot sandbox run without a sandbox, instead of not at all.
  bool lenient = false;
  bool allow_user_kernels = false;  // GPUs run user-supplied kernels, too
  // Of CPU time, of a trial where tensors are small and each thread has a CPU;
  // deadlines are longer where they are not (child_limits.h).
  int64_t build_memory_bytes = int64_t{4} << 30;  // of a compiler, besides what the engine holds
  int64_t build_timeout_ms = 10'000;
  int64_t run_timeout_ms = 10'000;
  ReferenceOptions references;
};

class Engine {
 public:
  // Warms the compilers up and, where the targets have no peaks, measures them: below a second, and
  // a few for GPUs. Says what the use of a GPU lacks.
  static Result<std::unique_ptr<Engine>> Create(EngineOptions options);

  // What it measures on, the CPU first; Trial::target is an index into it.
  const std::vector<target::Target>& targets() const { return targets_; }
  const target::Target& target() const { return targets_.front(); }
  // A lock file held while measuring.
  void set_gate(GateFile file);

  void Add(Trial trial);
  // Forgets a trial; one that is being measured runs to its end, and its result is dropped.
  void Cancel(const Digest& uid);
  size_t held() const { return jobs_.size(); }

  // Starts what can start and waits for children or for `fd` to become readable (-1: none).
  void Work(int timeout_ms, int fd);
  // Something is built for the CPU, nothing is building for it, and no GPU is at work.
  bool ReadyToMeasure() const;
  // Measures everything that is ready for the CPU. Blocks.
  void Measure();
  // How the GPUs' time went; empty without any.
  std::string GpuUsageText() const;
  const GpuUsage& gpu_usage() const { return usage_; }
  // What people should know of the machine's state, once; empty: nothing new.
  std::string TakeWarning();
  // Results since the last call.
  std::vector<TrialResult> TakeResults();

 private:
  enum class Stage { kQueued, kBuilding, kBuilt, kOnGpu };
  struct Job {
    Trial trial;
    uint64_t ticket = 0;  // of the task on a GPU that it is part of
    size_t together = 1;  // kernels of that task
    DeviceTime::Clock::time_point submitted;
    Stage stage = Stage::kQueued;
    WorkloadData* data = nullptr;
    std::optional<Child> builder;
    std::unique_ptr<CubinExchange> exchange;  // of a builder for a GPU
    BuiltKernel built;
    bool alone = false;  // a kernel that it was to be timed beside failed
  };
  explicit Engine(EngineOptions options);
  Status Calibrate();
  build::ChildWork BuildWork() const;
  Status StartGpus();
  Status CheckUserKernel() const;
  bool OnCpu(const Job& job) const {
    return targets_[static_cast<size_t>(job.trial.target)].As<target::CpuTarget>() != nullptr;
  }
  size_t ClassOf(const Job& job) const;  // among the fleet's; REQUIRES: !OnCpu(job)
  bool IsWorkWaiting(const std::vector<Job*>& group);
  void SubmitToGpus();
  // The trials of the interleaved group of this one, itself included; empty while one of them is
  // not built.
  std::vector<Job*> GroupOf(Job& job);
  void TakeFromGpu(GpuFleet::Ended ended);
  void CollectFromGpus();
  void NoteUsage();
  void NoteTimes();
  // Trials for the CPU wait to be measured.
  bool CpuWaits() const;
  void StopBuilders();
  void ContinueBuilders();
  void StartBuilds();
  bool StartBuild(Job& job);
  void CollectBuilds();
  void FinishBuild(Job& job, bool timed_out);
  void FailUnreferenced();
  bool Ready(const Job& job) const;
  DeviceTime& TimeOf(const Job& job) { return times_[static_cast<size_t>(job.trial.target)]; }
  void Finish(Job& job, Measurement measurement, double device_s);
  void Fail(Job& job, Measurement measurement);
  void DropFinished();

  EngineOptions options_;
  std::vector<target::Target> targets_;
  std::vector<DeviceTime> times_;        // parallel to `targets_`
  std::unique_ptr<build::Nvrtc> nvrtc_;  // with GPUs
  std::unique_ptr<GpuFleet> fleet_;      // with GPUs
  SharedCubins cubins_;
  GpuUsage usage_;
  GateFile gate_;
  bool gate_warned_ = false;
  std::string warning_;
  std::string probe_kernels_;
  std::optional<MachineProbe> probe_;
  MachineState machine_;
  ReferenceStore references_;
  std::chrono::milliseconds build_timeout_;  // by the clock
  std::list<Job> jobs_;
  std::vector<TrialResult> results_;
  uint64_t tickets_ = 0;
};

}  // namespace mlc::worker
