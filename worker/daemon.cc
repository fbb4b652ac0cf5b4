#include "worker/daemon.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "proto/worker.grpc.pb.h"
#include "worker/agent.h"

namespace mlc::worker {
namespace {

constexpr int64_t kCallTimeoutMs = 10'000;
constexpr int64_t kLongestSleepMs = 1'000;
constexpr int kMaxMessage = 64 << 20;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string RandomId() {
  std::random_device device;
  Digest digest;
  digest.high = (uint64_t{device()} << 32) | device();
  digest.low = (uint64_t{device()} << 32) | device();
  return digest.ToText();
}

std::shared_ptr<grpc::Channel> Connect(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

class Daemon {
 public:
  Daemon(const DaemonOptions& options, EngineProcess& engine)
      : options_(options),
        engine_(engine),
        agent_({.name = options.name,
                .boot = RandomId(),
                .build = options.build,
                .target = engine.target(),
                .slots = options.slots}),
        stub_(proto::Workers::NewStub(Connect(options.server))),
        parent_(getppid()) {
    if (!options_.gate.empty()) SetGate(options_.gate);
  }

  Status Run() {
    for (;;) {
      if (agent_.done()) return Status();
      if (options_.exit_with_parent && getppid() != parent_) return Status();
      const int64_t now = NowMs();
      if (drain_deadline_ms_ > 0 && now > drain_deadline_ms_) {
        options_.logger->warn("left with {} results that the server does not know",
                              agent_.unacknowledged());
        return Status();
      }
      if (agent_.NextCallMs() <= now) {
        MLC_TRY(Synchronize());
        if (options_.once && idle_) Drain();
        continue;
      }
      MLC_TRY(Wait(std::min(agent_.NextCallMs() - now, kLongestSleepMs)));
    }
  }

 private:
  void Drain() {
    agent_.Drain();
    if (drain_deadline_ms_ == 0) drain_deadline_ms_ = NowMs() + options_.drain_grace_ms;
  }

  void SetGate(const std::string& path) {
    if (path == gate_) return;
    gate_ = path;
    engine_.SetGate(path);
  }

  Status Wait(int64_t timeout_ms) {
    const short engine_events = engine_.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    pollfd waiting[] = {{engine_.fd(), engine_events, 0}, {options_.signals, POLLIN, 0}};
    (void)poll(waiting, 2, static_cast<int>(timeout_ms));
    if ((waiting[1].revents & POLLIN) != 0) {
      signalfd_siginfo info;
      (void)!read(options_.signals, &info, sizeof(info));
      if (++signals_ > 1) return Status(StatusCode::kCancelled, "a second signal");
      options_.logger->info("draining: {} trials to finish", agent_.holding());
      Drain();
    }
    engine_.Flush();
    EngineProcess::Events events = MLC_TRY(engine_.Read());
    for (TrialResult& result : events.results) agent_.OnResult(std::move(result));
    if (events.measured) agent_.set_measuring(false);
    if (events.wants_to_measure) {
      agent_.set_measuring(true);
      engine_.LetMeasure();
    }
    return Status();
  }

  Status Synchronize() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(kCallTimeoutMs));
    const bool was_connected = agent_.connected();
    proto::SynchronizeReply reply;
    const proto::SynchronizeRequest request = agent_.Request();
    const grpc::Status called = stub_->Synchronize(&context, request, &reply);
    if (!called.ok()) {
      const Status status(static_cast<StatusCode>(called.error_code()), called.error_message());
      if (was_connected) {
        options_.logger->warn("{}: {}; trying again", options_.server, status.ToString());
      }
      return agent_.OnFailure(status, NowMs());
    }
    if (!greeted_ || !was_connected) options_.logger->info("connected to {}", options_.server);
    greeted_ = true;
    for (const proto::Refusal& refusal : reply.refused()) {
      options_.logger->warn("a result was refused: {}", refusal.reason());
    }
    if (!reply.timing_lock().empty()) SetGate(reply.timing_lock());
    const Agent::Orders orders = agent_.OnReply(reply, NowMs());
    for (const Digest& uid : orders.cancel) engine_.Cancel(uid);
    for (const Trial& trial : orders.start) engine_.Add(trial);
    if (reply.drain()) Drain();
    idle_ = agent_.holding() == 0 && agent_.unacknowledged() == 0;
    return Status();
  }

  const DaemonOptions& options_;
  EngineProcess& engine_;
  Agent agent_;
  std::unique_ptr<proto::Workers::Stub> stub_;
  const pid_t parent_;
  std::string gate_;
  int signals_ = 0;
  bool greeted_ = false;
  bool idle_ = false;
  int64_t drain_deadline_ms_ = 0;
};

}  // namespace

Status RunDaemon(const DaemonOptions& options, EngineProcess& engine) {
  return Daemon(options, engine).Run();
}

}  // namespace mlc::worker
