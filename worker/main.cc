// mlc-worker: builds, checks and times the trials of a server. Exit codes:
// docs/reference/exit-codes.md.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/exit_code.h"
#include "base/machine/cpus.h"
#include "base/process/arguments.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "base/rpc/acceptor.h"
#include "base/rpc/flags.h"
#include "base/settings/setting_table.h"
#include "base/settings/settings.h"
#include "base/version.h"
#include "compiler/build/cubin_cache.h"
#include "worker/agent/daemon.h"
#include "worker/devices.h"
#include "worker/doctor/doctor.h"
#include "worker/doctor/gpu_doctor.h"
#include "worker/local_trial.h"

namespace {

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-worker --doctor --server tuner.lab:7443\n"
    "  mlc-worker --server tuner.lab:7443 --target all --tls-ca ca.pem --token-file token\n"
    "  mlc-worker --trial workload.txt --repeat 10";

using mlc::ExitCode;
using mlc::Result;
using mlc::Status;
using namespace mlc::worker;

struct Flags {
  mlc::transport::ChannelOptions server{"127.0.0.1:7650", {}, {}, {}};
  std::string state;
  std::string target = "cpu";
  std::string cuda_home;
  std::string cubin_cache;
  std::string name;
  std::string gate;
  std::string sandbox = "on";
  std::string trial;
  std::string config;
  int threads = 0;
  int builders = 0;
  int slots = 0;
  int repeat = 1;
  double early_stop_ns = 0;
  uint64_t seed = 1;
  std::string gpu_locks;
  bool once = false;
  bool exit_with_parent = false;
  bool server_given = false;
  bool doctor = false;
  bool self_test = false;
  bool json = false;
  bool verbose = false;
  bool allow_user_kernels = false;
  bool no_peaks = false;
};

int Fail(const Status& status) {
  std::cerr << "mlc-worker: " << status.message() << "\n";
  return static_cast<int>(mlc::ExitCodeOf(status));
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return mlc::NotFound("cannot read " + path);
  return text.str();
}

std::string CubinFolderOf(const Flags& flags) {
  return mlc::build::CubinFolder(flags.cubin_cache, "trials",
                                 [](const char* name) { return std::getenv(name); });
}

// Made by the system for all workers of the host (deploy/systemd); else a folder that all users can
// write to.
std::string LockFolderOf(const Flags& flags) {
  constexpr char kShared[] = "/run/mlc-gpu";
  std::error_code ignored;
  if (!flags.gpu_locks.empty()) return flags.gpu_locks;
  return std::filesystem::is_directory(kShared, ignored) ? kShared : "/tmp";
}

// The GPUs whose runners this machine can sandbox, or that run without; else why there are none.
Result<std::vector<GpuDevice>> UsableGpus(const Flags& flags) {
  const Status sandbox = mlc::build::CanSandbox(mlc::build::Limits::SandboxKind::kDevice);
  if (flags.sandbox == "on" && !sandbox.ok()) {
    return Status(sandbox.code(), sandbox.message() + "; or accept it with --sandbox=off");
  }
  return FindGpus();
}

Result<WorkerOptions> OptionsOf(const Flags& flags) {
  WorkerOptions options;
  options.llvm = MLC_LLVM_VERSION;
  options.target = mlc::target::DetectHost(mlc::target::ThreadsFor(flags.threads));
  options.builders = flags.builders > 0 ? flags.builders : mlc::target::UsableCpus();
  const bool can_sandbox = mlc::build::CanSandbox(mlc::build::Limits::SandboxKind::kCompute).ok();
  options.sandbox = flags.sandbox == "on" || (flags.sandbox == "best" && can_sandbox);
  // User-supplied kernels from elsewhere always run in a sandbox, or not at all.
  const bool own = flags.server.address.starts_with("unix:") || !flags.allow_user_kernels;
  options.lenient = flags.sandbox == "best" && own;
  options.cpu = flags.target != "cuda";
  options.cuda_home = flags.cuda_home;
  options.gpu_locks = LockFolderOf(flags);
  options.allow_user_kernels = flags.allow_user_kernels;
  options.measures_gpu_peaks = !flags.no_peaks;
  options.cubin_cache = CubinFolderOf(flags);
  if (flags.target == "cpu") return options;
  Result<std::vector<GpuDevice>> gpus = UsableGpus(flags);
  // "all" takes what there is; the doctor says why there is no more.
  if (!gpus.ok() && flags.target == "cuda") return gpus.status();
  if (gpus.ok()) options.gpus = *std::move(gpus);
  return options;
}

Result<int> RunDoctor(const Flags& flags) {
  Flags cpu = flags;
  cpu.target = "cpu";
  const auto engine = MLC_TRY(CreateEngine(MLC_TRY(OptionsOf(cpu))));
  const Diagnosis diagnosis = Diagnose(engine->target());
  std::cout << diagnosis.report;
  const Diagnosis gpus = DiagnoseGpus(flags.cuda_home, CubinFolderOf(flags));
  std::cout << gpus.report;
  const bool usable = diagnosis.usable && (gpus.usable || flags.target != "cuda");
  bool reached = true;
  if (flags.server_given) {
    // Last: the driver is asked in a child, which needs a process of one thread.
    const Diagnosis server = DiagnoseServer(flags.server);
    std::cout << server.report;
    reached = server.usable;
  }
  if (!usable) return static_cast<int>(ExitCode::kPermission);
  return static_cast<int>(reached ? ExitCode::kOk : ExitCode::kUnavailable);
}

Result<int> RunSelfTest(const Flags& flags) {
  const auto engine = MLC_TRY(CreateEngine(MLC_TRY(OptionsOf(flags))));
  MLC_TRY(SelfTest(*engine));
  for (const mlc::target::Target& target : engine->targets()) {
    std::cout << "self-test passed: " << target.ToText() << "\n";
  }
  return static_cast<int>(ExitCode::kOk);
}

Result<int> RunLocalTrial(const Flags& flags) {
  // The class alone decides what is built; without the peaks' measuring, the start is faster.
  WorkerOptions options = MLC_TRY(OptionsOf(flags));
  options.target.fma_gflops = 1;
  for (GpuDevice& gpu : options.gpus) gpu.target.copy_gbps = 1;
  Trial trial;
  trial.workload = MLC_TRY(ReadFile(flags.trial));
  const auto workload = MLC_TRY(mlc::graph::Workload::Parse(trial.workload));
  trial.workload = workload.ToText();
  const mlc::target::Target& target = options.cpu ? options.target : options.gpus.front().target;
  trial.config =
      flags.config.empty() ? MLC_TRY(DefaultConfig(trial.workload, target)) : flags.config;
  trial.seed = flags.seed;
  trial.early_stop_ns = flags.early_stop_ns;
  const auto engine = MLC_TRY(CreateEngine(options));
  bool ok = true;
  if (!flags.json) std::cout << workload.Summary() << "\n" << trial.config << "\n";
  for (const mlc::Measurement& m : RunTrial(*engine, trial, flags.repeat)) {
    std::cout << (flags.json ? ToJson(m) : ToLine(m, workload.Flops())) << std::endl;
    ok = ok && (m.outcome == mlc::Outcome::kOk || m.outcome == mlc::Outcome::kTooSlow);
  }
  return static_cast<int>(ok ? ExitCode::kOk : ExitCode::kNoResult);
}

std::string HostName() {
  char name[256] = {};
  (void)gethostname(name, sizeof(name) - 1);
  return name[0] != '\0' ? name : "worker";
}

// Signals that drain the worker; blocked, to be read from the descriptor.
int SignalDescriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

void WarnAboutSandbox(const Flags& flags, spdlog::logger& logger) {
  if (flags.sandbox == "off")
    logger.warn("sandbox off: kernels of the server run without a sandbox");
  const Status sandbox = mlc::build::CanSandbox(mlc::build::Limits::SandboxKind::kDevice);
  if (sandbox.ok() || flags.target == "cpu") return;
  if (flags.sandbox == "best")
    logger.warn("kernels run on GPUs without a sandbox: {}", sandbox.message());
  if (flags.sandbox == "on") logger.warn("GPUs are left out: {}", sandbox.message());
}

Result<int> RunWorker(const Flags& flags) {
  const mlc::build::SandboxSupport sandbox = mlc::build::DetectSandbox();
  if (flags.sandbox == "on" && !sandbox.seccomp) {
    return Status(mlc::StatusCode::kPermissionDenied,
                  "this Linux kernel has no seccomp: kernels of a server cannot be sandboxed; "
                  "--sandbox=off accepts that");
  }
  auto logger = std::make_shared<spdlog::logger>("mlc-worker",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(flags.verbose ? spdlog::level::info : spdlog::level::warn);
  const WorkerOptions options = MLC_TRY(OptionsOf(flags));
  DaemonOptions daemon;
  daemon.slots = flags.slots > 0 ? flags.slots : 16 * options.builders;
  daemon.signals = SignalDescriptor();
  // Each build and each set of inputs takes some: more than the usual 1,024 with 200 CPUs.
  // Where the limit stays low, fewer are built at a time.
  (void)mlc::transport::RaiseDescriptorLimit();
  const auto engine = MLC_TRY(StartEngineProcess(options));
  daemon.server = flags.server;
  daemon.state = flags.state;
  // Under systemd the unit's state folder.
  const char* folder = std::getenv("STATE_DIRECTORY");
  if (daemon.state.empty() && folder != nullptr) daemon.state = folder;
  daemon.name = flags.name;
  if (daemon.name.empty()) {
    daemon.name = HostName();
    if (engine->devices().size() == 1) daemon.name += SuffixOf(engine->devices().front());
  }
  daemon.build = MLC_BUILD_ID;
  daemon.gate = flags.gate;
  daemon.once = flags.once;
  daemon.exit_with_parent = flags.exit_with_parent;
  daemon.logger = logger;
  for (size_t i = 0; i < engine->devices().size(); ++i) {
    logger->info("{} {} sandbox {}", DeviceSlotName(daemon.name, engine->devices(), i),
                 engine->devices()[i].target, flags.sandbox == "off" ? "off" : sandbox.ToText());
  }
  WarnAboutSandbox(flags, *logger);
  const Status status = RunDaemon(daemon, *engine);
  if (!engine->use().text.empty()) logger->info("{}", engine->use().text);
  if (status.code() == mlc::StatusCode::kCancelled) return static_cast<int>(ExitCode::kInterrupted);
  MLC_TRY(status);
  return 0;
}

consteval const char* SettingHelp(std::string_view name) {
  return mlc::settings::HelpOf(mlc::settings::Program::kWorker, name);
}

void AddCommonFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Common");
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", mlc::VersionText("mlc-worker"));
  app.add_option("--server", flags.server.address, SettingHelp("server"))->capture_default_str();
  app.add_option("--target", flags.target, SettingHelp("target"))
      ->check(CLI::IsMember({"cpu", "cuda", "all"}))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, SettingHelp("threads"))->check(CLI::Range(0, 1024));
  app.add_option("--name", flags.name, SettingHelp("name"));
  app.add_flag("-v,--verbose", flags.verbose, "more messages");
}

void AddTrialFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Building and timing");
  app.add_option("--builders", flags.builders, SettingHelp("builders"))->check(CLI::Range(0, 1024));
  app.add_option("--slots", flags.slots, SettingHelp("slots"))->check(CLI::Range(0, 1024));
  app.add_option("--state", flags.state, SettingHelp("state"))->check(CLI::ExistingDirectory);
  app.add_option("--gate", flags.gate, SettingHelp("gate"));
  app.add_option("--sandbox", flags.sandbox, SettingHelp("sandbox"))
      ->check(CLI::IsMember({"on", "best", "off"}));
  app.add_flag("--allow-user-kernels", flags.allow_user_kernels, SettingHelp("allow-user-kernels"));
  app.add_flag("--once", flags.once, "exit when the server has no work");
  app.add_flag("--exit-with-parent", flags.exit_with_parent,
               "exit when the parent process ends (implied by unix:)");
  mlc::transport::BeginGroup(app, "For GPUs");
  app.add_option("--cuda-home", flags.cuda_home, SettingHelp("cuda-home"));
  app.add_option("--cubin-cache", flags.cubin_cache, SettingHelp("cubin-cache"));
  app.add_option("--gpu-locks", flags.gpu_locks, SettingHelp("gpu-locks"))
      ->check(CLI::ExistingDirectory);
  app.add_flag("--no-peaks", flags.no_peaks,
               "register before the GPUs have started, without the peaks that they would measure: "
               "for user-supplied kernels alone, whose search asks for none");
}

void AddCheckFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Checks of this machine");
  app.add_flag("--doctor", flags.doctor,
               "report what this machine offers and whether --server answers, then exit");
  app.add_flag("--self-test", flags.self_test, "test the whole pipeline, then exit");
  mlc::transport::BeginGroup(app, "One trial without a server");
  app.add_option("--trial", flags.trial, "measure one config of the workload in this file");
  app.add_option("--trial-config", flags.config,
                 "config of --trial; the family's default if empty");
  app.add_option("--repeat", flags.repeat, "how often to run --trial")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--early-stop-ns", flags.early_stop_ns,
                 "with --trial: end it as too_slow above this time");
  app.add_option("--seed", flags.seed, "with --trial: seed of the random inputs");
  app.add_flag("--json", flags.json, "with --trial: one JSON object per line");
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("mlc-worker: builds, checks and times the trials of a server", "mlc-worker");
  app.footer(kFooter);
  mlc::settings::Settings settings(mlc::settings::Program::kWorker,
                                   [](const char* name) { return std::getenv(name); });
  AddCommonFlags(app, flags);
  settings.AddFlags(app);
  AddTrialFlags(app, flags);
  mlc::transport::BeginGroup(app, "The connection");
  mlc::transport::AddClientFlags(app, flags.server);
  AddCheckFlags(app, flags);
  if (const std::optional<int> end = settings.Parse(app, argc, argv, std::cout, std::cerr)) {
    return *end;
  }
  flags.server_given = app.count("--server") > 0;
  if (flags.server.address.starts_with("unix:")) flags.exit_with_parent = true;
  const Result<int> code = flags.doctor           ? RunDoctor(flags)
                           : flags.self_test      ? RunSelfTest(flags)
                           : !flags.trial.empty() ? RunLocalTrial(flags)
                                                  : RunWorker(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  mlc::transport::EnableChildWait();
  return mlc::transport::EndProgram("mlc-worker", Main(argc, argv));
}
