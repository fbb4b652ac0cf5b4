#include "worker/engine/builders.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/frame.h"

namespace mlc::worker {
namespace {

// What a build child sends: a kernel after this byte, or a status code as a byte and a message.
constexpr char kBuilt = '+';

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

Builders::Builders(const BuilderOptions& options)
    : options_(options),
      // One builds on one thread; references are made beside them.
      work_({.processes = 2 * options.builders,
             .ms = options.timeout_ms,
             .memory_bytes = options.memory_bytes}),
      timeout_(build::WallMs(work_, build::ThisMachine())) {}

bool Builders::StartOne(Job& job) {
  Result<std::unique_ptr<KernelBuild>> made = job.device->NewBuild(job.device_target);
  if (!made.ok()) return false;
  KernelBuild& build = **made;
  Child::Options child;
  child.limits = build::LimitsFor(work_);
  child.limits.sandbox = options_.sandbox;
  build.SetLimits(job.trial.config, child.limits);
  child.has_children = child.limits.sandbox_kind == build::Limits::SandboxKind::kCompiler;
  // What does not fit into a message is of no use to a runner.
  child.most_bytes = kMaxFrame;
  child.keep = build.ChildDescriptors();
  Result<Child> builder = Child::Start(child, [&](int pipe) {
    WriteAll(pipe, Report(build.Run(job.trial.workload, job.trial.config)));
  });
  if (!builder.ok()) return false;
  build.OnStarted();
  job.build = *std::move(made);
  job.builder = *std::move(builder);
  job.stage = Stage::kBuilding;
  return true;
}

void Builders::Start(std::list<Job>& jobs, ReferenceStore& references) {
  int builds = 0;  // waiting and running
  int running = 0;
  for (const Job& job : jobs) {
    builds += job.stage <= Stage::kBuilding ? 1 : 0;
    running += job.stage == Stage::kBuilding ? 1 : 0;
  }
  // References leave half of the CPUs to builds, where these need them.
  references.SetMakers(std::max({options_.builders - builds, options_.builders / 2, 1}));
  running += references.makers();
  for (Job& job : jobs) {
    const bool some = running == 0 || running < options_.builders;
    if (job.stage == Stage::kQueued && some && StartOne(job)) ++running;
  }
}

void Builders::AddTo(const std::list<Job>& jobs, std::vector<pollfd>& waiting) {
  for (const Job& job : jobs) {
    if (job.builder) waiting.push_back({job.builder->pipe(), POLLIN, 0});
    if (job.build != nullptr && job.build->fd() >= 0) {
      waiting.push_back({job.build->fd(), POLLIN, 0});
    }
  }
}

std::optional<Measurement> Builders::Collect(Job& job) {
  job.build->Serve();
  const bool open = job.builder->Read();
  const bool late = job.builder->Running() > timeout_;
  if (open && !late) return std::nullopt;
  return Finish(job, open && late);
}

std::optional<Measurement> Builders::Finish(Job& job, bool timed_out) const {
  if (timed_out) job.builder->Kill();
  const int end = job.builder->Reap();
  const std::string report = std::move(job.builder->received());
  const std::string errors = job.builder->ErrorText();
  const bool too_much = job.builder->sent_too_much();
  job.builder.reset();
  job.build->Serve();  // what it left
  job.build.reset();
  if (timed_out) {
    const std::string limit = std::to_string(timeout_.count());
    return Failed(Outcome::kBuildTimeout, "no kernel after " + limit + " ms");
  }
  if (too_much) {
    return Failed(Outcome::kBuildError,
                  "the kernel is larger than " + std::to_string(kMaxFrame >> 20) + " MiB");
  }
  if (end != 0 || report.empty()) return BuildFailure(end, errors);
  if (report[0] != kBuilt) return Refusal(report);
  Result<BuiltKernel> built = Decode(std::string_view(report).substr(1), job.data->workload);
  if (!built.ok()) return Failed(Outcome::kBuildError, built.status().message());
  job.built = *std::move(built);
  job.stage = Stage::kBuilt;
  return std::nullopt;
}

void Builders::Stop(std::list<Job>& jobs) {
  for (Job& job : jobs) {
    if (job.builder) job.builder->Stop();
  }
}

void Builders::Continue(std::list<Job>& jobs) {
  for (Job& job : jobs) {
    if (job.builder) job.builder->Continue();
  }
}

}  // namespace mlc::worker
