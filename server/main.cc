// mlc-server: the tuning service. Exit codes: docs/exit-codes.md.
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>

#include "compiler/base/exit_code.h"
#include "server/search/portfolio_strategy.h"
#include "server/server.h"

namespace {

struct Flags {
  std::string log = "tuning.db";
  std::string listen = "127.0.0.1:7650";
  std::string log_file;
  std::string timing_lock;
  bool verbose = false;
  int64_t lease_ms = 30'000;
  int64_t grace_ms = 10'000;
};

std::shared_ptr<spdlog::logger> MakeLogger(const Flags& flags) {
  spdlog::sink_ptr sink;
  if (flags.log_file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(flags.log_file);
  }
  auto logger = std::make_shared<spdlog::logger>("mlc-server", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(flags.verbose ? spdlog::level::debug : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  return logger;
}

// The signals that end the server; blocked in every thread, so that main can wait for them.
sigset_t BlockedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

int Run(const Flags& flags) {
  const sigset_t signals = BlockedSignals();
  mlc::server::ServerOptions options;
  options.log = flags.log;
  options.listen = flags.listen;
  options.tuner.strategy = mlc::server::MakePortfolioStrategy;
  options.tuner.terms.lease_ms = flags.lease_ms;
  options.tuner.timing_lock = flags.timing_lock;
  options.tuner.logger = MakeLogger(flags);
  auto logger = options.tuner.logger;
  auto server = mlc::server::Server::Start(std::move(options));
  if (!server.ok()) {
    logger->error("{}", server.status().message());
    return static_cast<int>(mlc::ExitCodeOf(server.status()));
  }
  logger->info("serving {} on {}", flags.log, (*server)->address());
  // Scripts wait for this line.
  std::cout << "listening " << (*server)->address() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->Stop(flags.grace_ms);
  logger->info("stopped");
  return static_cast<int>(mlc::ExitCode::kOk);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("mlc-server: gives trials to workers and keeps the tuning log", "mlc-server");
  app.add_option("--log", flags.log, "tuning log, created if missing")->capture_default_str();
  app.add_option("--listen", flags.listen, "unix:PATH or a loopback HOST:PORT; port 0 picks one")
      ->capture_default_str();
  app.add_option("--log-file", flags.log_file, "where messages go; standard error if empty");
  app.add_option("--timing-lock", flags.timing_lock,
                 "file that keeps the search's computing and local timings apart");
  app.add_option("--lease-ms", flags.lease_ms, "a silent worker loses its trials after this")
      ->check(CLI::Range(100, 3'600'000))
      ->capture_default_str();
  app.add_option("--grace-ms", flags.grace_ms, "how long a stop waits for trials under way")
      ->check(CLI::Range(0, 600'000))
      ->capture_default_str();
  app.add_flag("-v,--verbose", flags.verbose, "more messages");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(mlc::ExitCode::kUsage);
  }
  return Run(flags);
}
