#include "server/fleet/local_provider.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/process/worker_process.h"
#include "server/fleet/worker_command.h"

namespace mlc::server::fleet {
namespace {

constexpr int64_t kLeaveMs = 3'000;
constexpr std::chrono::milliseconds kPoll(10);

class LocalProvider : public Provider {
 public:
  LocalProvider(const FleetConfig& config, std::string server)
      : config_(config), server_(std::move(server)) {}

  ~LocalProvider() override {
    for (const auto& [name, process] : processes_) kill(process.pid, SIGTERM);
    const int64_t deadline = SystemClock().SteadyMs() + kLeaveMs;
    for (Reap(); !processes_.empty() && SystemClock().SteadyMs() < deadline; Reap()) {
      std::this_thread::sleep_for(kPoll);
    }
    for (const auto& [name, process] : processes_) {
      kill(-process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
    }
  }

  Status Ensure(const std::string& pool, const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      if (!processes_.contains(name)) MLC_TRY(Start(pool, name));
    }
    return Status();
  }

  Result<std::vector<PlacedWorker>> List() override {
    Reap();
    std::vector<PlacedWorker> placed;
    for (const auto& [name, process] : processes_) {
      placed.push_back({name, process.pool, PlacedState::kRunning, false,
                        "process " + std::to_string(process.pid)});
    }
    return placed;
  }

  Status Drain(const std::string& name) override { return Signal(name, SIGTERM); }

  Status Kill(const std::string& name) override { return Signal(name, SIGKILL); }

 private:
  struct Process {
    pid_t pid = -1;
    std::string pool;
  };

  Status Start(const std::string& pool, const std::string& name) {
    int messages = -1;
    if (!config_.logs.empty()) {
      const std::string path = config_.logs + "/" + name + ".log";
      messages = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (messages < 0) return Unavailable("cannot write " + path + ": " + strerror(errno));
    }
    const Result<pid_t> pid =
        StartWorkerProcess(WorkerCommand(config_, pool, server_, name), messages);
    if (messages >= 0) close(messages);
    processes_[name] = {MLC_TRY(pid), pool};
    return Status();
  }

  void Reap() {
    std::erase_if(processes_, [](const auto& entry) {
      const pid_t pid = entry.second.pid;
      if (waitpid(pid, nullptr, WNOHANG) != pid) return false;
      kill(-pid, SIGKILL);  // whatever it left behind
      return true;
    });
  }

  Status Signal(const std::string& name, int signal) {
    const auto found = processes_.find(name);
    if (found == processes_.end()) return Status();
    // A drained worker ends its children itself; a killed one cannot.
    kill(signal == SIGKILL ? -found->second.pid : found->second.pid, signal);
    return Status();
  }

  const FleetConfig config_;
  const std::string server_;
  std::map<std::string, Process> processes_;
};

}  // namespace

std::unique_ptr<Provider> MakeLocalProvider(const FleetConfig& config, const std::string& server) {
  return std::make_unique<LocalProvider>(config, server);
}

}  // namespace mlc::server::fleet
