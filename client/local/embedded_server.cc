#include "client/local/embedded_server.h"

#include <fcntl.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/exit_code.h"
#include "base/process/worker_process.h"

namespace mlc::client {
namespace {

constexpr int kMaxExits = 5;
constexpr std::chrono::milliseconds kWorkerLeaves(2000);
constexpr std::chrono::milliseconds kPoll(10);
constexpr std::string_view kSpeaker = "mlc-worker: ";
constexpr int kNoProgram = 127;  // execvp found none, or one that does not start

// Ends of a worker that the next one would have, too.
bool IsRefusal(int code) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kUsage:
    case ExitCode::kBadInput:
    case ExitCode::kPermission:
    case ExitCode::kVersion:
      return true;
    default:
      return code == kNoProgram;
  }
}

}  // namespace

std::string ProgramBeside(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? name : (self.parent_path() / name).string();
}

Result<std::unique_ptr<EmbeddedServer>> EmbeddedServer::Begin(EmbeddedOptions options) {
  if (options.worker.empty()) options.worker = ProgramBeside("mlc-worker");
  if (access(options.worker.c_str(), X_OK) != 0) {
    return Unavailable("there is no worker program " + options.worker +
                       ": install mlc-worker beside mlc-tune, or give --worker or --server");
  }
  PrivateFolder folder = MLC_TRY(PrivateFolder::Create(FolderForTemporaries()));
  std::unique_ptr<EmbeddedServer> embedded(
      new EmbeddedServer(std::move(options), std::move(folder)));
  MLC_TRY(embedded->StartWorker());
  return embedded;
}

Status EmbeddedServer::Serve() {
  server::ServerOptions server;
  server.log = options_.log;
  server.endpoint.listen = address();
  server.page.listen = options_.page;
  server.page.flag = "--page";
  server.tuner.strategy = options_.strategy;
  // Other models' interrupted jobs wait for their own mlc-tune.
  server.tuner.resume_jobs = false;
  server.tuner.timing_lock = folder_.path() + "/timing";
  spdlog::sink_ptr sink;
  if (options_.verbose) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(folder_.path() + "/server.log");
  }
  server.tuner.logger = std::make_shared<spdlog::logger>("server", std::move(sink));
  server_ = MLC_TRY(server::Server::Start(std::move(server)));
  return Status();
}

Status EmbeddedServer::StartWorker() {
  std::vector<std::string> words = {options_.worker, "--server", address(), "--threads",
                                    std::to_string(options_.threads), "--target", options_.device,
                                    // What it runs is the user's own, as it is in mlc-run.
                                    "--sandbox", "best",
                                    // Settings of a worker at a server are not for this one.
                                    "--config", ""};
  if (!options_.cuda_home.empty()) {
    words.insert(words.end(), {"--cuda-home", options_.cuda_home});
  }
  if (!options_.cubin_cache.empty()) {
    words.insert(words.end(), {"--cubin-cache", options_.cubin_cache});
  }
  if (options_.allow_user_kernels) {
    words.insert(words.end(), {"--allow-user-kernels", "--no-peaks"});
  }
  if (options_.verbose) words.emplace_back("--verbose");
  const std::string file = folder_.path() + "/worker.log";
  const int messages =
      options_.verbose
          ? -1
          : open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  const Result<pid_t> started = server::fleet::StartWorkerProcess(std::move(words), messages);
  if (messages >= 0) close(messages);
  worker_ = MLC_TRY(started);
  return Status();
}

// What it said about its end, if it did.
std::string EmbeddedServer::LastWords() const {
  std::ifstream file(folder_.path() + "/worker.log");
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (line.starts_with(kSpeaker)) last = line.substr(kSpeaker.size());
  }
  return last;
}

Status EmbeddedServer::WhyNoWorker(const std::string& how, const std::string& words) const {
  const std::string times = exits_ == 1 ? "" : ", " + std::to_string(exits_) + " times";
  const std::string end = options_.worker + " " + how + times;
  if (!words.empty()) return Unavailable(words + " (" + end + ")");
  return Unavailable("`" + options_.worker +
                     " --doctor` says why this machine cannot tune: " + end +
                     (options_.verbose ? ", its messages are above" : " and printed nothing"));
}

Status EmbeddedServer::KeepWorker(int64_t trials) {
  int status = 0;
  if (worker_ < 0 || waitpid(worker_, &status, WNOHANG) != worker_) return Status();
  worker_ = -1;
  ++exits_;
  const std::string how = WIFSIGNALED(status)
                              ? "was killed by signal " + std::to_string(WTERMSIG(status))
                              : "ended with code " + std::to_string(WEXITSTATUS(status));
  const std::string words = LastWords();
  const bool refused = WIFEXITED(status) && IsRefusal(WEXITSTATUS(status));
  // A user kills it, or Linux where memory runs out: the next worker may go on.
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  const std::string end = how + words;
  const bool same = end == std::exchange(last_end_, end);
  const bool no_trial = trials == std::exchange(trials_, trials);
  const bool permanent = refused || (same && no_trial && !killed);
  if (permanent || exits_ >= kMaxExits) return WhyNoWorker(how, words);
  return StartWorker();
}

void EmbeddedServer::Stop(int64_t grace_ms) {
  if (server_ != nullptr) server_->Stop(grace_ms);
  if (worker_ > 0) {
    // One that has not met its server has nothing to finish.
    kill(worker_, server_ != nullptr ? SIGTERM : SIGKILL);
    const auto deadline = std::chrono::steady_clock::now() + kWorkerLeaves;
    int status = 0;
    while (waitpid(worker_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) kill(worker_, SIGKILL);
      std::this_thread::sleep_for(kPoll);
    }
    worker_ = -1;
  }
  server_.reset();
}

EmbeddedServer::~EmbeddedServer() { Stop(0); }

}  // namespace mlc::client
