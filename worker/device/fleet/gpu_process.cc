#include "worker/device/fleet/gpu_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <utility>

#include "base/process/frame.h"
#include "base/process/priority.h"
#include "base/sandbox/child_limits.h"
#include "worker/build/trial.h"
#include "worker/device/cuda/device.h"
#include "worker/device/cuda/gpu_runner.h"

namespace mlc::worker {
namespace {

// Of a runner, in the time of its CPUs; a new one takes over.
constexpr int64_t kLifeMs = int64_t{30} * 24 * 3600 * 1000;

// Everything below runs in the child.

Result<std::vector<Measurement>> RunTask(GpuRunner& runner, const GpuTaskMessage& message,
                                         int descriptor, std::function<bool()> more) {
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(message.workload));
  std::vector<BuiltKernel> built;
  for (const std::string& bytes : message.built) {
    built.push_back(MLC_TRY(Decode(bytes, workload)));
  }
  if (!runner.sets().Holds(message.set)) {
    SharedMemory memory = MLC_TRY(SharedMemory::Map(dup(descriptor)));
    MLC_TRY(runner.sets().Add(workload, message.set, std::move(memory)));
  }
  return runner.Run({&workload, built, message.set, message.early_stop_ns, std::move(more)});
}

// The image comes as the first message if the child was started without it.
Result<std::string> ServiceImageOf(const GpuProcessOptions& options, DescriptorReader& tasks) {
  if (!options.service_image.empty()) return options.service_image;
  std::string image;
  int descriptor = -1;
  if (!tasks.Receive(image, descriptor)) return Unavailable("the engine has ended");
  return image;
}

void Serve(const GpuProcessOptions& options, int socket, int pipe) {
  DescriptorReader tasks(socket);
  Result<std::unique_ptr<GpuRunner>> runner =
      GpuRunner::Create({.ordinal = options.device.ordinal,
                         .cuda_home = options.cuda_home,
                         .service_image = [&] { return ServiceImageOf(options, tasks); },
                         .threads = options.threads});
  GpuHello hello;
  hello.status = runner.status();
  if (runner.ok() && options.measures_peaks && options.device.target.copy_gbps <= 0) {
    const Result<double> copy = (*runner)->CopyGbps();
    if (copy.ok()) hello.copy_gbps = *copy;
    hello.status = copy.status();
  }
  if (!WriteAll(pipe, Frame(Encode(hello))) || !hello.status.ok()) return;
  const std::function<bool()> no_task_waits = [&] { return !tasks.Waiting(); };
  std::string task;
  int descriptor = -1;
  while (tasks.Receive(task, descriptor)) {
    if (task == kStopExtraSamples) continue;  // it came too late
    const std::optional<GpuTaskMessage> message = DecodeGpuTask(task);
    GpuReport report;
    Result<std::vector<Measurement>> ran =
        message ? RunTask(**runner, *message, descriptor,
                          message->may_take_more_samples ? no_task_waits : std::function<bool()>())
                : DataLoss("the engine sent no task");
    if (!ran.ok()) ran = std::vector{Failed(Outcome::kInfra, ran.status().message())};
    report.measurements = *std::move(ran);
    report.tainted = (*runner)->tainted();
    report.more_s = (*runner)->more_seconds();
    if (descriptor >= 0) close(descriptor);
    if (!WriteAll(pipe, Frame(Encode(report))) || report.tainted) break;
  }
  // A poisoned context cannot be taken apart; the process's end frees everything.
  _exit(0);
}

}  // namespace

GpuProcess::~GpuProcess() {
  ForgetTask();
  Stop();
}

void GpuProcess::ForgetTask() {
  task_.reset();
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

void GpuProcess::Stop() {
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  child_.reset();
  state_ = State::kNone;
  done_ = 0;
  sent_ = false;
}

void GpuProcess::Ensure() {
  if (state_ != State::kNone) return;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    failure_ = ResourceExhausted("cannot create a socket pair: too many open files");
    return;
  }
  Child::Options options;
  // The driver reserves more address space than there is memory.
  options.limits =
      build::LimitsFor({.threads = options_.threads + 1, .ms = kLifeMs, .memory_bytes = 0});
  options.limits.file_bytes = int64_t{1} << 30;
  options.limits.open_files = 4096;
  options.limits.sandbox = options_.sandbox;
  options.limits.sandbox_kind = build::Limits::SandboxKind::kDevice;
  options.before = [] {
    RaisePriority(-10);
    StartDriver();
  };
  options.keep = {ends[1]};
  Result<Child> child = Child::Start(options, [&](int pipe) { Serve(options_, ends[1], pipe); });
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    failure_ = child.status();
    return;
  }
  child_ = *std::move(child);
  socket_ = ends[0];
  state_ = State::kStarting;
  deadline_ = Clock::now() + std::chrono::milliseconds(options_.start_timeout_ms);
}

void GpuProcess::SetServiceImage(std::string image) {
  options_.service_image = std::move(image);
  // A child that is gone shows at its pipe.
  if (state_ == State::kStarting) (void)SendWithDescriptor(socket_, options_.service_image, -1);
}

Status GpuProcess::AwaitReady() {
  Ensure();
  while (state_ == State::kStarting) {
    pollfd waiting = {child_->pipe(), POLLIN, 0};
    (void)poll(&waiting, 1, 100);
    (void)Collect();
  }
  return state_ == State::kReady ? Status() : failure_;
}

void GpuProcess::Submit(GpuTaskMessage task, int descriptor) {
  task_ = std::move(task);
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  sent_ = false;
  Ensure();
  if (state_ == State::kReady) Send();
}

void GpuProcess::Send() {
  sent_ = true;
  // Outputs are compared on the host, one kernel after the other.
  const int64_t set_bytes = std::max<int64_t>(0, lseek(descriptor_, 0, SEEK_END));
  const build::ChildWork work{.ms = options_.run_timeout_ms, .tensor_bytes = set_bytes};
  const auto kernels = static_cast<int64_t>(task_->built.size());
  timeout_ms_ = kernels * build::WallMs(work, build::ThisMachine());
  deadline_ = Clock::now() + std::chrono::milliseconds(timeout_ms_);
  // A child that is gone shows at its pipe.
  (void)SendWithDescriptor(socket_, Encode(*task_), descriptor_);
}

void GpuProcess::StopExtraSamples() {
  if (!task_ || !std::exchange(task_->may_take_more_samples, false)) return;
  if (sent_) (void)SendWithDescriptor(socket_, kStopExtraSamples, -1);
}

void GpuProcess::AddTo(std::vector<pollfd>& waiting) const {
  if (child_) waiting.push_back({child_->pipe(), POLLIN, 0});
}

bool GpuProcess::IsOverdue() const {
  const bool waits = state_ == State::kStarting || (task_ && sent_);
  return waits && Clock::now() > deadline_;
}

std::optional<std::vector<Measurement>> GpuProcess::TakeMessages() {
  while (auto frame = TakeFrame(child_->received())) {
    if (state_ == State::kStarting) {
      const std::optional<GpuHello> hello = DecodeGpuHello(*frame);
      failure_ = hello ? hello->status : Internal("the GPU's runner sent no hello");
      if (!failure_.ok()) continue;  // it ends by itself
      if (hello->copy_gbps > 0) {
        copy_gbps_ = hello->copy_gbps;
        options_.device.target.copy_gbps = copy_gbps_;
      }
      state_ = State::kReady;
      has_started_ = true;
      if (task_) Send();
      continue;
    }
    std::optional<GpuReport> report = DecodeGpuReport(*frame);
    if (!report || !task_) continue;
    ForgetTask();
    ++done_;
    more_s_ += report->more_s;
    if (report->tainted) {
      Stop();
      Ensure();
    }
    return std::move(report->measurements);
  }
  return std::nullopt;
}

std::optional<Measurement> GpuProcess::HandleChildFailure() {
  const bool was_ready = state_ == State::kReady;
  const bool late = IsOverdue();
  const bool too_much = child_->sent_too_much();
  if (late) child_->Kill();
  const int end = child_->Reap();
  const std::string errors = child_->ErrorText();
  const int64_t done = done_;
  const bool sent = sent_;
  Stop();
  const std::string how = DescribeEnd(end) + (errors.empty() ? "" : ": " + errors);
  if (!was_ready && failure_.ok()) {
    failure_ = Unavailable("the runner of " + options_.device.name +
                           (late ? " does not start in time" : " " + how));
  }
  if (!task_) return std::nullopt;
  if (!was_ready) {
    ForgetTask();
    return Failed(Outcome::kInfra, failure_.message());
  }
  if (late) {
    ForgetTask();
    Ensure();
    return Failed(Outcome::kRunTimeout, "no result after " + std::to_string(timeout_ms_) + " ms");
  }
  // An earlier trial of the same child may have caused the failure, so a later one is retried in a
  // new child before the failure counts.
  Ensure();
  if (done > 0 || !sent) {
    sent_ = false;
    return std::nullopt;
  }
  ForgetTask();
  if (too_much) return Failed(Outcome::kRunError, "the kernel's process sent no result");
  const bool infra = IsMachineFailure(end, "");
  return Failed(infra ? Outcome::kInfra : Outcome::kRunError, "the kernel's process " + how);
}

std::optional<std::vector<Measurement>> GpuProcess::Collect() {
  if (!child_) {
    if (!task_) return std::nullopt;
    ForgetTask();
    return std::vector{Failed(Outcome::kInfra, failure_.message())};
  }
  const bool open = child_->Read();
  if (auto measurements = TakeMessages()) return measurements;
  // The child may have been replaced meanwhile.
  if (!child_ || ((open || state_ == State::kNone) && !IsOverdue())) return std::nullopt;
  std::optional<Measurement> lost = HandleChildFailure();
  if (!lost) return std::nullopt;
  return std::vector{*std::move(lost)};
}

}  // namespace mlc::worker
