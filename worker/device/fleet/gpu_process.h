// The engine's handle of the runner child of a GPU: starts it ahead of the first task, gives it one
// task at a time, watches it, and replaces it after a crash, a hang or a wrong result. Only the
// start of the process blocks. Not thread-safe. REQUIRES: the calling process has one thread and
// has not initialised CUDA.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process/child.h"
#include "worker/device/fleet/gpu_devices.h"
#include "worker/device/fleet/gpu_messages.h"

namespace mlc::worker {

struct GpuProcessOptions {
  GpuDevice device;
  std::string cuda_home;
  std::string service_image;  // empty: it follows by SetServiceImage
  int threads = 1;
  bool measures_peaks = true;  // those that the device's target lacks
  bool sandbox = true;
  int64_t start_timeout_ms = 60'000;
  int64_t run_timeout_ms = 10'000;  // of one trial
};

class GpuProcess {
 public:
  explicit GpuProcess(GpuProcessOptions options) : options_(std::move(options)) {}
  GpuProcess(const GpuProcess&) = delete;
  GpuProcess& operator=(const GpuProcess&) = delete;
  ~GpuProcess();

  const GpuDevice& device() const { return options_.device; }
  // Starts a child if there is none.
  void Ensure();
  // The child is not ready before it has the image. REQUIRES: not empty; called once, if the
  // options have none.
  void SetServiceImage(std::string image);
  // Waits until the child is ready. The error says what the use of the device lacks.
  Status AwaitReady();
  double copy_gbps() const { return copy_gbps_; }
  // Why no child has ever been ready; ok until that is known.
  Status start_failure() const { return has_started_ ? Status() : failure_; }

  bool busy() const { return task_.has_value(); }
  // Gives the child a task. The caller keeps the descriptor, which is of the task's reference set.
  // REQUIRES: !busy().
  void Submit(GpuTaskMessage task, int descriptor);
  // Another task waits: the child stops taking extra samples.
  void StopExtraSamples();
  // The time in seconds spent on extra samples since the last call.
  double TakeMoreSeconds() { return std::exchange(more_s_, 0); }
  void AddTo(std::vector<pollfd>& waiting) const;
  // The measurements of the task once it has ended in any way; see GpuReport.
  std::optional<std::vector<Measurement>> Collect();

 private:
  enum class State { kNone, kStarting, kReady };
  using Clock = std::chrono::steady_clock;

  void Stop();
  void Send();
  void ForgetTask();
  // Ends the task after the end of the child or a protocol violation.
  std::optional<Measurement> HandleChildFailure();
  std::optional<std::vector<Measurement>> TakeMessages();
  bool IsOverdue() const;

  GpuProcessOptions options_;
  State state_ = State::kNone;
  std::optional<Child> child_;
  int socket_ = -1;
  Status failure_;  // why the last child was not ready
  double copy_gbps_ = 0;
  bool has_started_ = false;
  std::optional<GpuTaskMessage> task_;
  int descriptor_ = -1;
  bool sent_ = false;
  double more_s_ = 0;
  int64_t done_ = 0;  // finished tasks of this child
  Clock::time_point deadline_;
  int64_t timeout_ms_ = 0;  // time limit of the task
};

}  // namespace mlc::worker
