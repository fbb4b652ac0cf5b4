#include "worker/engine/engine.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/machine/cpus.h"
#include "base/machine/memory.h"
#include "base/process/frame.h"
#include "base/process/priority.h"
#include "worker/measure/calibration.h"
#include "worker/measure/measurement_gate.h"

namespace mlc::worker {
namespace {

// What a build child sends: a kernel after this byte, or a status code as a byte and a message.
constexpr char kBuilt = '+';

// Another worker's turn on a GPU ends without a word.
constexpr int kLockPollMs = 10;

std::string Report(const Result<BuiltKernel>& built) {
  if (built.ok()) return kBuilt + Encode(*built);
  return static_cast<char>(built.status().code()) + built.status().message();
}

// No fault of the config: another version, a family that this build has not or is not to build, a
// compiler without memory.
Measurement Refusal(std::string_view report) {
  switch (static_cast<StatusCode>(report[0])) {
    case StatusCode::kFailedPrecondition:
    case StatusCode::kNotFound:
    case StatusCode::kResourceExhausted:
      return Failed(Outcome::kInfra, report.substr(1));
    default:
      return Failed(Outcome::kBuildError, report.substr(1));
  }
}

Measurement BuildFailure(int end, const std::string& errors) {
  std::string detail = "the compiler " + DescribeEnd(end);
  if (!errors.empty()) detail += ": " + errors;
  if (WIFSIGNALED(end) && WTERMSIG(end) == SIGXCPU) return Failed(Outcome::kBuildTimeout, detail);
  return Failed(IsMachineFailure(end, errors) ? Outcome::kInfra : Outcome::kBuildError, detail);
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      cubins_(options_.gpus.empty() ? "" : options_.cubin_cache),
      references_(options_.references),
      build_timeout_(build::WallMs(BuildWork(), build::ThisMachine())) {}

Result<std::unique_ptr<Engine>> Engine::Create(EngineOptions options) {
  options.references.sandbox = options.sandbox;
  options.references.cpus = options.builders;
  // Half of the memory: sets, builds and others need the rest.
  options.references.maker_bytes = target::UsableMemory() / 2;
  auto engine = std::unique_ptr<Engine>(new Engine(std::move(options)));
  engine->probe_kernels_ = MLC_TRY(BuildProbeKernels(engine->options_.target));
  engine->probe_ = MLC_TRY(MachineProbe::Create(engine->probe_kernels_, engine->options_.target));
  if (engine->options_.cpu) {
    if (engine->options_.target.fma_gflops <= 0) MLC_TRY(engine->Calibrate());
    engine->targets_.push_back(engine->options_.target);
    engine->times_.emplace_back(1);
  }
  if (!engine->options_.gpus.empty()) MLC_TRY(engine->StartGpus());
  if (engine->targets_.empty()) return InvalidArgument("a worker needs at least one device");
  return engine;
}

Status Engine::Calibrate() {
  const build::ChildWork work = CalibrationWork(options_.target.cpu().threads);
  const Peaks peaks = MLC_TRY(MeasurePeaks(*probe_, work, options_.sandbox));
  options_.target.fma_gflops = peaks.fma_gflops;
  options_.target.copy_gbps = peaks.copy_gbps;
  machine_.fma = ReferenceSpeed(peaks.fma_gflops);
  return Status();
}

build::ChildWork Engine::BuildWork() const {
  // One builds on one thread; references are made beside them.
  return {.processes = 2 * options_.builders,
          .ms = options_.build_timeout_ms,
          .memory_bytes = options_.build_memory_bytes};
}

void Engine::Add(Trial trial) {
  Job& job = jobs_.emplace_back();
  job.trial = std::move(trial);
  if (job.trial.target < 0 || static_cast<size_t>(job.trial.target) >= targets_.size()) {
    job.trial.target = 0;
    Fail(job, Failed(Outcome::kInfra, "the worker has no such target"));
    return DropFinished();
  }
  Result<WorkloadData*> data = references_.Find(job.trial.workload, job.trial.seed);
  if (!data.ok()) {
    Fail(job, Failed(Outcome::kBuildError, data.status().message()));
    return DropFinished();
  }
  job.data = *data;
  ++job.data->users;
}

void Engine::Cancel(const Digest& uid) {
  for (Job& job : jobs_) {
    if (job.trial.uid != uid) continue;
    if (job.data != nullptr) --job.data->users;
    job.data = nullptr;
  }
  DropFinished();
}

void Engine::DropFinished() {
  jobs_.remove_if([](const Job& job) { return job.data == nullptr; });
}

void Engine::Fail(Job& job, Measurement measurement) {
  Finish(job, std::move(measurement), TimeOf(job).TakeUnattributed());
}

void Engine::Finish(Job& job, Measurement measurement, double device_s) {
  measurement.device_ms = 1e3 * device_s;
  results_.push_back({job.trial.uid, std::move(measurement), device_s});
  if (job.data != nullptr) --job.data->users;
  job.data = nullptr;
}

bool Engine::StartBuild(Job& job) {
  Child::Options child;
  child.limits = build::LimitsFor(BuildWork());
  child.limits.sandbox = options_.sandbox;
  // What does not fit into a message is of no use to a runner.
  child.most_bytes = kMaxFrame;
  if (cubins_.used() && !OnCpu(job)) {
    auto exchange = CubinExchange::Open();
    if (!exchange.ok()) return false;
    job.exchange = *std::move(exchange);
    child.keep = job.exchange->ChildDescriptors();
  }
  Result<Child> builder = Child::Start(child, [&](int pipe) {
    const auto asking = job.exchange != nullptr ? job.exchange->Compiler(*nvrtc_) : nullptr;
    const CudaToolchain tools{asking != nullptr ? asking.get() : nvrtc_.get(), options_.target,
                              options_.allow_user_kernels};
    WriteAll(pipe, Report(BuildKernel(job.trial.workload, job.trial.config,
                                      targets_[static_cast<size_t>(job.trial.target)], tools)));
  });
  if (!builder.ok()) return false;
  if (job.exchange != nullptr) job.exchange->CloseChildSide();
  job.builder = *std::move(builder);
  job.stage = Stage::kBuilding;
  return true;
}

void Engine::StartBuilds() {
  int builds = 0;  // waiting and running
  int running = 0;
  for (const Job& job : jobs_) {
    builds += job.stage <= Stage::kBuilding ? 1 : 0;
    running += job.stage == Stage::kBuilding ? 1 : 0;
  }
  // References leave half of the CPUs to builds, where these need them.
  references_.SetMakers(std::max({options_.builders - builds, options_.builders / 2, 1}));
  running += references_.makers();
  for (Job& job : jobs_) {
    const bool some = running == 0 || running < options_.builders;
    if (job.stage == Stage::kQueued && some && StartBuild(job)) ++running;
  }
}

void Engine::FinishBuild(Job& job, bool timed_out) {
  if (timed_out) job.builder->Kill();
  const int end = job.builder->Reap();
  const std::string report = std::move(job.builder->received());
  const std::string errors = job.builder->ErrorText();
  const bool too_much = job.builder->sent_too_much();
  job.builder.reset();
  if (job.exchange != nullptr) cubins_.Serve(*job.exchange, *nvrtc_);  // what it left
  job.exchange.reset();
  if (timed_out) {
    const std::string limit = std::to_string(build_timeout_.count());
    return Fail(job, Failed(Outcome::kBuildTimeout, "no kernel after " + limit + " ms"));
  }
  if (too_much) {
    return Fail(job, Failed(Outcome::kBuildError, "the kernel is larger than " +
                                                      std::to_string(kMaxFrame >> 20) + " MiB"));
  }
  if (end != 0 || report.empty()) return Fail(job, BuildFailure(end, errors));
  if (report[0] != kBuilt) return Fail(job, Refusal(report));
  Result<BuiltKernel> built = Decode(std::string_view(report).substr(1), job.data->workload);
  if (!built.ok()) return Fail(job, Failed(Outcome::kBuildError, built.status().message()));
  job.built = *std::move(built);
  job.stage = Stage::kBuilt;
}

void Engine::CollectBuilds() {
  for (Job& job : jobs_) {
    if (job.stage != Stage::kBuilding || job.data == nullptr) continue;
    if (job.exchange != nullptr) cubins_.Serve(*job.exchange, *nvrtc_);
    const bool open = job.builder->Read();
    const bool late = job.builder->Running() > build_timeout_;
    if (!open || late) FinishBuild(job, open && late);
  }
}

void Engine::FailUnreferenced() {
  for (Job& job : jobs_) {
    if (job.data == nullptr || !job.data->sets.empty() || job.data->maker) continue;
    if (job.data->waiting) continue;
    if (!job.data->failure.ok()) {
      Fail(job, Failed(Outcome::kInfra, job.data->failure.message()));
    }
  }
}

bool Engine::CpuWaits() const {
  bool any = false;
  for (const Job& job : jobs_) {
    if (!OnCpu(job)) continue;
    if (job.stage != Stage::kBuilt) return false;
    any |= Ready(job);
  }
  return any;
}

void Engine::Work(int timeout_ms, int fd) {
  StartBuilds();
  SubmitToGpus();
  std::vector<pollfd> waiting;
  for (const Job& job : jobs_) {
    if (job.builder) waiting.push_back({job.builder->pipe(), POLLIN, 0});
    if (job.exchange != nullptr) waiting.push_back({job.exchange->fd(), POLLIN, 0});
  }
  references_.AddTo(waiting);
  if (fleet_ != nullptr) fleet_->AddTo(waiting);
  if (fd >= 0) waiting.push_back({fd, POLLIN, 0});
  NoteTimes();
  NoteUsage();
  if (fleet_ != nullptr && fleet_->waits()) timeout_ms = std::min(timeout_ms, kLockPollMs);
  (void)poll(waiting.data(), waiting.size(), timeout_ms);
  references_.Collect();
  CollectBuilds();
  CollectFromGpus();
  FailUnreferenced();
  DropFinished();
  SubmitToGpus();
  NoteTimes();
}

bool Engine::Ready(const Job& job) const {
  return job.stage == Stage::kBuilt && !job.data->sets.empty();
}

bool Engine::ReadyToMeasure() const {
  return CpuWaits() && (fleet_ == nullptr || fleet_->AllIdle());
}

void Engine::StopBuilders() {
  for (Job& job : jobs_) {
    if (job.builder) job.builder->Stop();
  }
}

void Engine::ContinueBuilders() {
  for (Job& job : jobs_) {
    if (job.builder) job.builder->Continue();
  }
}

void Engine::set_gate(GateFile file) {
  gate_ = std::move(file);
  gate_warned_ = false;
}

std::string Engine::TakeWarning() {
  if (std::string warning = std::exchange(warning_, {}); !warning.empty()) return warning;
  if (std::string warning = cubins_.TakeWarning(); !warning.empty()) return warning;
  return fleet_ != nullptr ? fleet_->TakeWarning() : std::string();
}

void Engine::Measure() {
  std::vector<Job*> ready;
  std::vector<RunTask> tasks;
  const int cpus = target::UsableCpus();
  for (Job& job : jobs_) {
    if (!OnCpu(job) || !Ready(job)) continue;
    ready.push_back(&job);
    tasks.push_back({&job.data->workload, &job.built, references_.NextSet(*job.data).bytes().data(),
                     job.trial.early_stop_ns, RotationBytesFor(options_.target),
                     options_.target.cpu().threads <= cpus});
  }
  BatchOptions options;
  options.threads = options_.target.cpu().threads;
  options.probe = &*probe_;
  options.sandbox = options_.sandbox;
  options.run_timeout_ms = options_.run_timeout_ms;
  references_.StopMakers();
  StopBuilders();
  std::vector<TimedMeasurement> measured;
  DeviceTime& time = times_.front();
  time.Note(1, 1, DeviceTime::Clock::now());
  {
    const MeasurementGate gate(gate_, MeasurementGate::Mode::kExclusive);
    if (!gate.held_by().empty() && !std::exchange(gate_warned_, true)) {
      warning_ = "timing does not wait any longer for " + gate_.path + ", which is held by " +
                 gate.held_by();
    }
    measured = RunBatch(tasks, options, machine_);
  }
  ContinueBuilders();
  references_.ContinueMakers();
  const double waited_s = time.TakeUnattributed() / static_cast<double>(ready.size());
  for (size_t i = 0; i < ready.size(); ++i) {
    measured[i].measurement.build_ms = ready[i]->built.build_ms;
    references_.Renew(*ready[i]->data, ready[i]->trial.seed);
    Finish(*ready[i], std::move(measured[i].measurement), measured[i].took_s + waited_s);
  }
  DropFinished();
}

std::vector<TrialResult> Engine::TakeResults() { return std::exchange(results_, {}); }

}  // namespace mlc::worker
