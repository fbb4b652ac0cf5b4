#include "worker/device/cuda/gpu_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/steady_time.h"
#include "worker/build/trial.h"
#include "worker/check/check.h"

namespace mlc::worker {
namespace {

constexpr int64_t kCardIntervalNs = 200'000'000;
constexpr int64_t kSetBudget = int64_t{16} << 30;
// A clock below this share of the best one is still rising.
constexpr double kMinClockShare = 0.93;
constexpr int kClockAttempts = 50;
constexpr int kWarmUpReadings = 40;
constexpr int kBurst = 16;
// Workers that share the card wait no longer for a turn because of more samples.
constexpr int64_t kMaxMoreNs = 250'000'000;
constexpr int64_t kCopyBytes = int64_t{256} << 20;

bool SameBytes(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Result<std::unique_ptr<GpuRunner>> GpuRunner::Create(const GpuRunnerOptions& options) {
  auto runner = std::unique_ptr<GpuRunner>(new GpuRunner());
  runner->threads_ = options.threads;
  runner->cupti_ = MLC_TRY(Cupti::Open(options.cuda_home));
  runner->device_ = MLC_TRY(Device::Open(options.ordinal));
  Result<std::unique_ptr<Nvml>> nvml = Nvml::Open(runner->device_->facts().pci);
  if (nvml.ok()) runner->nvml_ = *std::move(nvml);
  runner->service_ =
      MLC_TRY(ServiceKernels::Create(*runner->device_, MLC_TRY(options.service_image())));
  const auto memory = static_cast<int64_t>(runner->device_->facts().memory_bytes);
  runner->sets_ = std::make_unique<DeviceSets>(*runner->device_, std::min(kSetBudget, memory / 4));
  runner->pool_ = mlc_pool_create(options.threads, 0);
  if (runner->pool_ == nullptr) return ResourceExhausted("cannot start the threads of the pool");
  MLC_TRY(runner->WarmUp());
  return runner;
}

// An idle card's clock is low and rises within milliseconds: the best one is that under load.
Status GpuRunner::WarmUp() {
  for (int i = 0; i < kWarmUpReadings; ++i) {
    best_clock_mhz_ = std::max(best_clock_mhz_, MLC_TRY(service_->ClockMhz()));
    for (int burst = 0; burst < kBurst; ++burst) MLC_TRY(service_->EvictL2());
  }
  return device_->Synchronize("warming up");
}

GpuRunner::~GpuRunner() { mlc_pool_destroy(pool_); }

Measurement GpuRunner::Wrong(const std::string& detail, double error) {
  tainted_ = true;
  Measurement measurement = Failed(Outcome::kWrongResult, detail);
  measurement.max_error = error;
  return measurement;
}

// What a failed call on the device says about the candidate.
Measurement GpuRunner::Broken(const Status& status) {
  switch (status.code()) {
    case StatusCode::kResourceExhausted:
    case StatusCode::kUnavailable:
    case StatusCode::kDataLoss:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kPermissionDenied:
      return Failed(Outcome::kInfra, status.message());
    case StatusCode::kInvalidArgument:
      return Failed(Outcome::kBuildError, status.message());
    default:
      tainted_ = true;
      return Failed(Outcome::kRunError, status.message());
  }
}

std::optional<Measurement> GpuRunner::Prepare(const GpuTask& task, const BuiltKernel& built,
                                              Contender& contender) {
  const DeviceSet& set = sets_->Use(task.set);
  Result<std::unique_ptr<DeviceKernel>> bound =
      DeviceKernel::Bind(*device_, *task.workload, built, set, pool_);
  if (!bound.ok()) return Broken(bound.status());
  contender.kernel = *std::move(bound);
  return Check(task, contender);
}

std::optional<Measurement> GpuRunner::Check(const GpuTask& task, Contender& contender) {
  DeviceKernel& kernel = *contender.kernel;
  const DeviceSet& set = sets_->Use(task.set);
  const double tolerance = ToleranceOf(*task.workload);
  const auto run = [&]() -> Status {
    MLC_TRY(kernel.Poison());
    return kernel.Execute(0);
  };
  Status status = run();
  if (status.ok()) status = kernel.ReadOutputs(*contender.outputs);
  if (!status.ok()) return Broken(status);
  double& error = contender.error;
  if (const std::string overrun = kernel.GuardError(*contender.outputs); !overrun.empty()) {
    return Wrong(overrun, error);
  }
  for (size_t i = 0; i < set.expected.size(); ++i) {
    const Comparison comparison =
        set.expected[i].Check(kernel.Output(*contender.outputs, i), tolerance, threads_);
    error = std::max(error, comparison.error);
    if (!comparison.ok) {
      return Wrong("output " + std::to_string(i) + ": " + comparison.detail, error);
    }
  }
  status = run();
  if (!status.ok()) return Broken(status);
  return CheckSame(contender,
                   "two executions on the same inputs differ: a race between its threads");
}

std::optional<Measurement> GpuRunner::CheckSame(Contender& contender, const char* otherwise) {
  const Status status = contender.kernel->ReadOutputs(others_);
  if (!status.ok()) return Broken(status);
  if (!SameBytes(*contender.outputs, others_)) return Wrong(otherwise, contender.error);
  return std::nullopt;
}

Result<double> GpuRunner::SteadyClock() {
  double clock = 0;
  for (int i = 0; i < kClockAttempts; ++i) {
    clock = MLC_TRY(service_->ClockMhz());
    best_clock_mhz_ = std::max(best_clock_mhz_, clock);
    if (clock >= kMinClockShare * best_clock_mhz_) break;
    // Work that draws it up.
    for (int burst = 0; burst < kBurst; ++burst) MLC_TRY(service_->EvictL2());
  }
  return clock;
}

GpuStage GpuRunner::StageOf(Contender& contender) {
  GpuStage stage;
  DeviceKernel& kernel = *contender.kernel;
  stage.launches = kernel.launches();
  stage.copies = kernel.copies();
  stage.execute = [&](int copy) { return kernel.Execute(copy); };
  stage.evict = [this] { return service_->EvictL2(); };
  stage.take = [this]() -> Result<std::vector<KernelRecord>> {
    MLC_TRY(device_->Synchronize("the kernel"));
    return cupti_->Take();
  };
  return stage;
}

Result<std::vector<Timing>> GpuRunner::Time(const GpuTask& task,
                                            std::vector<Contender>& contenders) {
  std::vector<GpuStage> stages;
  for (Contender& contender : contenders) stages.push_back(StageOf(contender));
  GpuTimingOptions options;
  options.early_stop_ns = task.early_stop_ns;
  int64_t since = 0;  // the first question, which ends the protocol proper
  if (task.more) {
    options.more = [&] {
      const int64_t now = NowNs();
      if (since == 0) since = now;
      return now - since < kMaxMoreNs && task.more();
    };
  }
  std::vector<Timing> timings;
  if (stages.size() > 1) {
    timings = MLC_TRY(TimeInTurns(stages, options));
  } else {
    timings.push_back(MLC_TRY(TimeOnGpu(stages.front(), options)));
  }
  if (since != 0) more_ns_ = NowNs() - since;
  return timings;
}

void GpuRunner::ReadCard() {
  const int64_t now = NowNs();
  if (nvml_ == nullptr || (card_read_ns_ != 0 && now - card_read_ns_ < kCardIntervalNs)) return;
  card_ = nvml_->Read();
  card_read_ns_ = now;
}

// What made the measured times worth less; empty if nothing did.
std::string GpuRunner::DeviceNotes() const {
  std::string remarks;
  if (const std::string slowed = HardSlowdown(card_.slowdown_bits); !slowed.empty()) {
    remarks = "the card was slowed down: " + slowed;
  }
  if (card_.compute_processes > 1) {
    remarks += std::string(remarks.empty() ? "" : "; ") +
               "others use the card: " + std::to_string(card_.compute_processes - 1) + " processes";
  }
  return remarks;
}

Measurement GpuRunner::Measured(const Timing& timing, double clock, double error) const {
  Measurement m = MeasurementOf(timing, error);
  m.clock_mhz = clock;
  m.machine_speed = best_clock_mhz_ > 0 ? clock / best_clock_mhz_ : 1;
  m.detail = DeviceNotes();
  return m;
}

std::vector<Measurement> GpuRunner::Run(const GpuTask& task) {
  more_ns_ = 0;
  std::vector<Contender> contenders(task.built.size());
  if (outputs_.size() < contenders.size()) outputs_.resize(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    contenders[i].outputs = &outputs_[i];
    if (auto failed = Prepare(task, task.built[i], contenders[i])) return {*std::move(failed)};
  }
  const Result<double> clock = SteadyClock();
  if (!clock.ok()) return {Broken(clock.status())};
  const Result<std::vector<Timing>> timings = Time(task, contenders);
  if (!timings.ok()) return {Broken(timings.status())};
  // Once more: executions that follow each other closely may disturb each other.
  for (Contender& contender : contenders) {
    if (auto wrong = CheckSame(contender, "the results change when executions follow closely")) {
      return {*std::move(wrong)};
    }
  }
  ReadCard();
  std::vector<Measurement> measured;
  for (size_t i = 0; i < contenders.size(); ++i) {
    measured.push_back(Measured((*timings)[i], *clock, contenders[i].error));
  }
  return measured;
}

Result<double> GpuRunner::CopyGbps() {
  const mlc_cuda& cuda = device_->cuda();
  DeviceMemory from = MLC_TRY(DeviceMemory::Allocate(*device_, kCopyBytes));
  DeviceMemory to = MLC_TRY(DeviceMemory::Allocate(*device_, kCopyBytes));
  (void)MLC_TRY(SteadyClock());
  mlc_cu_event events[2] = {};
  for (mlc_cu_event& event : events) {
    MLC_TRY(device_->Check(cuda.event_create(&event, MLC_CUDA_EVENT_TIMING), "an event"));
  }
  constexpr int kCopies = 20;
  float best_ms = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    MLC_TRY(device_->Check(cuda.event_record(events[0], device_->stream()), "an event"));
    for (int i = 0; i < kCopies; ++i) {
      MLC_TRY(
          device_->Check(cuda.memcpy_dtod_async(to.address(), from.address(),
                                                static_cast<size_t>(kCopyBytes), device_->stream()),
                         "a copy"));
    }
    MLC_TRY(device_->Check(cuda.event_record(events[1], device_->stream()), "an event"));
    MLC_TRY(device_->Synchronize("copies"));
    float ms = 0;
    MLC_TRY(device_->Check(cuda.event_elapsed_time(&ms, events[0], events[1]), "an event"));
    if (best_ms == 0 || ms < best_ms) best_ms = ms;
  }
  for (mlc_cu_event event : events) cuda.event_destroy(event);
  if (best_ms <= 0) return Unavailable("copies in device memory took no measurable time");
  return 2.0 * kCopies * static_cast<double>(kCopyBytes) / (static_cast<double>(best_ms) * 1e6);
}

}  // namespace mlc::worker
