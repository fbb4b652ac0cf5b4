// mlc-server: the tuning service. Exit codes: docs/reference/exit-codes.md.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/exit_code.h"
#include "base/machine/cpus.h"
#include "base/process/arguments.h"
#include "base/process/standard_files.h"
#include "base/process/standard_output.h"
#include "base/rpc/clock_watch.h"
#include "base/rpc/flags.h"
#include "base/settings/setting_table.h"
#include "base/settings/settings.h"
#include "base/version.h"
#include "server/fleet/fleet.h"
#include "server/fleet_flags.h"
#include "server/jobs/crash_marker.h"
#include "server/logging/log_file.h"
#include "server/logging/logging.h"
#include "server/search/portfolio_strategy.h"
#include "server/server.h"

namespace {

constexpr char kFooter[] =
    "Examples\n"
    "  mlc-server --log tuning.db\n"
    "  mlc-server --log tuning.db --fleet local\n"
    "  mlc-server --log tuning.db --listen 0.0.0.0:7443 --tls-cert server.pem --tls-key server.key "
    "--tls-ca ca.pem";

// Beyond the grace: open calls, the last commits, the checkpoint.
constexpr int64_t kStopMs = 60'000;
// By default; more would be in the way of everything else.
constexpr int kSearchThreads = 4;
// Searches compute for long; calls must be answered within milliseconds.
constexpr int kSearchNice = 10;

struct Flags {
  std::string log = "tuning.db";
  mlc::server::EndpointOptions endpoint = {.listen = "127.0.0.1:7650",
                                           .tls = {},
                                           .tokens = "",
                                           .insecure_listen = false,
                                           .reflection = true};
  mlc::server::LogOptions messages = {.program = "mlc-server", .file = {}};
  std::string metrics;
  std::string http;
  std::string timing_lock;
  bool verbose = false;
  int64_t lease_ms = 30'000;
  mlc::server::RosterTerms names;
  std::string canaries = "on";
  int64_t grace_ms = 10'000;
  mlc::server::SnapshotOptions snapshots;
  int64_t snapshot_minutes = 60;
  mlc::server::FleetFlags fleet;
  std::string quotas;
  mlc::server::IdleTuningOptions idle;
  int search_threads = std::min(mlc::target::UsableCpus(), kSearchThreads);
};

// The signals that end the server, or make it read its files again; blocked in every thread, so
// that main can wait for them.
sigset_t BlockedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A file at its limit is an error of a write, not the end.
  signal(SIGXFSZ, SIG_IGN);
  return signals;
}

consteval const char* SettingHelp(std::string_view name) {
  return mlc::settings::HelpOf(mlc::settings::Program::kServer, name);
}

void AddJobFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Jobs");
  app.add_option("--quotas", flags.quotas, SettingHelp("quotas"));
  app.add_option("--search-threads", flags.search_threads, SettingHelp("search-threads"))
      ->check(CLI::Range(1, 256));
  app.add_option("--grace-ms", flags.grace_ms, SettingHelp("grace-ms"))
      ->check(CLI::Range(0, 600'000))
      ->capture_default_str();
  app.add_option("--timing-lock", flags.timing_lock, SettingHelp("timing-lock"));
  app.add_option("--tune-untuned", flags.idle.trials,
                 "while there are no jobs, tune what builds had to take untuned, with so many "
                 "trials a task; 0: tune nothing")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

void AddWorkerFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Workers");
  app.add_option("--lease-ms", flags.lease_ms, SettingHelp("lease-ms"))
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  app.add_option("--canaries", flags.canaries, SettingHelp("canaries"))
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  app.add_option("--max-workers", flags.names.max_live, SettingHelp("max-workers"))
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-workers-each", flags.names.max_of_owner, SettingHelp("max-workers-each"))
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

void AddCommonFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Common");
  app.get_help_ptr()->group("Common");
  app.set_version_flag("--version", mlc::VersionText("mlc-server"));
  app.add_option("--log", flags.log, SettingHelp("log"))->capture_default_str();
  app.add_option("--listen", flags.endpoint.listen, SettingHelp("listen"))->capture_default_str();
  app.add_option("--http", flags.http, SettingHelp("http"));
  app.add_flag("-v,--verbose", flags.verbose, "more messages");
}

void AddSnapshotFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Snapshots");
  app.add_option("--snapshots", flags.snapshots.folder, SettingHelp("snapshots"));
  app.add_option("--snapshot-minutes", flags.snapshot_minutes, SettingHelp("snapshot-minutes"))
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--snapshot-keep", flags.snapshots.policy.newest, SettingHelp("snapshot-keep"))
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--snapshot-days", flags.snapshots.policy.days, SettingHelp("snapshot-days"))
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  app.add_option("--snapshot-free", flags.snapshots.policy.free_percent,
                 SettingHelp("snapshot-free"))
      ->check(CLI::Range(0, 90))
      ->capture_default_str();
}

void AddEndpointFlags(CLI::App& app, Flags& flags) {
  mlc::transport::BeginGroup(app, "Who may connect");
  mlc::transport::AddTlsFlags(app, flags.endpoint.tls, mlc::settings::Program::kServer);
  app.add_option("--tokens", flags.endpoint.tokens, SettingHelp("tokens"));
  app.add_flag("--insecure-listen", flags.endpoint.insecure_listen, SettingHelp("insecure-listen"));
  mlc::transport::BeginGroup(app, "Messages and metrics");
  app.add_option("--metrics", flags.metrics, SettingHelp("metrics"));
  app.add_option("--log-file", flags.messages.file, SettingHelp("log-file"));
  app.add_option("--log-format", flags.messages.format, SettingHelp("log-format"))
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", flags.messages.level, SettingHelp("log-level"))
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
}

// A stop that hangs must not keep a supervisor from starting the next server.
void EndAfter(int64_t ms, std::shared_ptr<spdlog::logger> logger) {
  std::thread([ms, logger = std::move(logger)] {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    logger->error("the stop hangs: ending at once; what was acknowledged is kept");
    std::_Exit(static_cast<int>(mlc::ExitCode::kTemporary));
  }).detach();
}

// Returns at a signal that ends the server, or when it needs a successor; the exit code.
mlc::ExitCode WaitForTheEnd(const sigset_t& signals, mlc::server::Server& server,
                            spdlog::logger& logger) {
  constexpr timespec kLook = {1, 0};
  mlc::transport::ClockWatch clock;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &kLook);
    if (signal == SIGHUP) {
      mlc::server::ReopenLogFiles(logger);
      server.Reload();
    }
    if (signal == SIGINT || signal == SIGTERM) return mlc::ExitCode::kOk;
    if (const int64_t back_ms = clock.SetBackMs(); back_ms > 0) {
      logger.error(
          "the clock was set back by {} s: timers of connections would rest as long. Ending; start "
          "the server again, it goes on where it was",
          back_ms / 1000);
      return mlc::ExitCode::kTemporary;
    }
  }
}

int Fail(spdlog::logger& logger, const mlc::Status& status) {
  logger.error("{}", status.message());
  return static_cast<int>(mlc::ExitCodeOf(status));
}

mlc::server::TunerOptions TunerOptionsOf(const Flags& flags) {
  mlc::server::TunerOptions options;
  options.strategy = mlc::server::MakePortfolioStrategy;
  options.terms.lease_ms = flags.lease_ms;
  options.names = flags.names;
  options.health.canaries = flags.canaries == "on";
  options.timing_lock = flags.timing_lock;
  options.search_threads = flags.search_threads;
  options.search_nice = kSearchNice;
  return options;
}

int Run(const Flags& flags) {
  const sigset_t signals = BlockedSignals();
  mlc::server::ServerOptions options;
  options.log = flags.log;
  options.endpoint = flags.endpoint;
  options.page.listen = flags.http;
  options.snapshots = flags.snapshots;
  options.snapshots.every_ms = flags.snapshot_minutes * 60'000;
  options.idle = flags.idle;
  options.tuner = TunerOptionsOf(flags);
  mlc::server::LogOptions messages = flags.messages;
  if (flags.verbose) messages.level = "debug";
  const auto made = mlc::server::MakeLogger(messages);
  if (!made.ok()) {
    std::cerr << "mlc-server: " << made.status().message() << std::endl;
    return static_cast<int>(mlc::ExitCodeOf(made.status()));
  }
  options.tuner.logger = *made;
  auto logger = options.tuner.logger;
  options.quotas = flags.quotas;
  options.tuner.crash_marker = flags.log + ".crashed";
  const mlc::Status watching = mlc::server::InstallCrashMarker(options.tuner.crash_marker);
  if (!watching.ok()) logger->warn("{}", watching.message());
  auto metrics = options.tuner.metrics;
  const auto fleet_config = mlc::server::ReadFleetFlags(flags.fleet, flags.endpoint.listen);
  if (!fleet_config.ok()) return Fail(*logger, fleet_config.status());
  if (!flags.metrics.empty()) {
    const mlc::Status serving = metrics->Serve(flags.metrics);
    if (!serving.ok()) return Fail(*logger, serving);
    logger->info("metrics on port {}", metrics->port());
  }
  auto server = mlc::server::Server::Start(std::move(options));
  if (!server.ok()) return Fail(*logger, server.status());
  logger->info("serving {} on {}", flags.log, (*server)->address());
  std::unique_ptr<mlc::server::fleet::Fleet> fleet;
  if (fleet_config->has_value()) {
    fleet = mlc::server::fleet::Fleet::Start(
        **fleet_config, (*server)->address(),
        {.demand = [&server = **server] { return server.WorkDemand(); },
         .report =
             [metrics, &server = **server](const mlc::server::fleet::FleetReport& report) {
               metrics->Set(mlc::server::Gauge::kFleetDesired, report.wanted);
               metrics->Set(mlc::server::Gauge::kFleetRunning, report.running);
               server.SetUnservedNeeds(report.unserved);
             },
         .logger = logger});
  }
  // Scripts wait for this line.
  std::cout << "listening " << (*server)->address() << std::endl;
  const mlc::ExitCode code = WaitForTheEnd(signals, **server, *logger);
  EndAfter(flags.grace_ms + kStopMs, logger);
  if (fleet != nullptr) fleet->Suspend();
  (*server)->Stop(flags.grace_ms);
  logger->info("stopped");
  return static_cast<int>(code);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("mlc-server: gives trials to workers and keeps the tuning log", "mlc-server");
  app.footer(kFooter);
  mlc::settings::Settings settings(mlc::settings::Program::kServer,
                                   [](const char* name) { return std::getenv(name); });
  AddCommonFlags(app, flags);
  settings.AddFlags(app);
  AddEndpointFlags(app, flags);
  AddJobFlags(app, flags);
  AddWorkerFlags(app, flags);
  mlc::server::AddFleetFlags(app, flags.fleet);
  AddSnapshotFlags(app, flags);
  if (const std::optional<int> end = settings.Parse(app, argc, argv, std::cout, std::cerr)) {
    return *end;
  }
  return Run(flags);
}

}  // namespace

int main(int argc, char** argv) {
  mlc::transport::OpenStandardFiles();
  mlc::transport::EnableChildWait();
  return mlc::transport::EndProgram("mlc-server", Main(argc, argv));
}
