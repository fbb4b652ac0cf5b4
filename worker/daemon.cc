#include "worker/daemon.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

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
        stub_(proto::Workers::NewStub(Connect(options.server))),
        parent_(getppid()) {
    const std::string boot = RandomId();
    for (size_t i = 0; i < engine.targets().size(); ++i) {
      seats_.push_back({Agent({.name = SeatName(options.name, engine.targets(), i),
                               .boot = boot,
                               .build = options.build,
                               .target = engine.targets()[i],
                               .slots = options.slots})});
    }
    if (!options_.gate.empty()) SetGate(options_.gate);
  }

  Status Run() {
    for (;;) {
      if (AllOf([](const Seat& seat) { return seat.agent.done(); })) return Status();
      if (options_.exit_with_parent && getppid() != parent_) return Status();
      int64_t now = NowMs();
      if (drain_deadline_ms_ > 0 && now > drain_deadline_ms_) {
        size_t lost = 0;
        for (const Seat& seat : seats_) lost += seat.agent.unacknowledged();
        options_.logger->warn("left with {} results that the server does not know", lost);
        return Status();
      }
      int64_t next = now + kLongestSleepMs;
      bool called = false;
      for (size_t i = 0; i < seats_.size(); ++i) {
        if (seats_[i].agent.done()) continue;
        if (seats_[i].agent.NextCallMs() <= NowMs()) {
          MLC_TRY(Synchronize(i));
          called = true;
        }
        next = std::min(next, seats_[i].agent.NextCallMs());
      }
      if (called && options_.once && AllOf([](const Seat& seat) { return seat.idle; })) Drain();
      now = NowMs();
      MLC_TRY(Wait(called ? 0 : std::max<int64_t>(0, next - now)));
    }
  }

 private:
  struct Seat {
    Agent agent;
    bool greeted = false;
    bool idle = false;
  };

  template <typename Predicate>
  bool AllOf(const Predicate& predicate) const {
    return std::all_of(seats_.begin(), seats_.end(), predicate);
  }

  void Drain() {
    for (Seat& seat : seats_) seat.agent.Drain();
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
      size_t holding = 0;
      for (const Seat& seat : seats_) holding += seat.agent.holding();
      options_.logger->info("draining: {} trials to finish", holding);
      Drain();
    }
    engine_.Flush();
    EngineProcess::Events events = MLC_TRY(engine_.Read());
    for (Seat& seat : seats_) {
      // Only the one that holds the trial takes it.
      for (const TrialResult& result : events.results) seat.agent.OnResult(result);
      if (events.measured) seat.agent.set_measuring(false);
      if (events.wants_to_measure) seat.agent.set_measuring(true);
    }
    if (events.wants_to_measure) engine_.LetMeasure();
    return Status();
  }

  Status Synchronize(size_t index) {
    Seat& seat = seats_[index];
    Agent& agent = seat.agent;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(kCallTimeoutMs));
    const bool was_connected = agent.connected();
    proto::SynchronizeReply reply;
    const proto::SynchronizeRequest request = agent.Request();
    const grpc::Status called = stub_->Synchronize(&context, request, &reply);
    if (!called.ok()) {
      const Status status(static_cast<StatusCode>(called.error_code()), called.error_message());
      if (was_connected) {
        options_.logger->warn("{}: {}; trying again", options_.server, status.ToString());
      }
      return agent.OnFailure(status, NowMs());
    }
    if (!seat.greeted || !was_connected) options_.logger->info("connected to {}", options_.server);
    seat.greeted = true;
    for (const proto::Refusal& refusal : reply.refused()) {
      options_.logger->warn("a result was refused: {}", refusal.reason());
    }
    if (!reply.timing_lock().empty()) SetGate(reply.timing_lock());
    const Agent::Orders orders = agent.OnReply(reply, NowMs());
    for (const Digest& uid : orders.cancel) engine_.Cancel(uid);
    for (Trial trial : orders.start) {
      trial.target = static_cast<int>(index);
      engine_.Add(trial);
    }
    if (reply.drain()) Drain();
    seat.idle = agent.holding() == 0 && agent.unacknowledged() == 0;
    return Status();
  }

  const DaemonOptions& options_;
  EngineProcess& engine_;
  std::vector<Seat> seats_;
  std::unique_ptr<proto::Workers::Stub> stub_;
  const pid_t parent_;
  std::string gate_;
  int signals_ = 0;
  int64_t drain_deadline_ms_ = 0;
};

}  // namespace

std::string SeatName(const std::string& name, const std::vector<std::string>& targets,
                     size_t seat) {
  if (targets.size() == 1) return name;
  const auto on_gpu = [](const std::string& target) {
    return target.starts_with("target v1 cuda");
  };
  if (!on_gpu(targets[seat])) return name + "-cpu";
  const auto before =
      std::count_if(targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(seat), on_gpu);
  return name + "-gpu" + (before == 0 ? "" : std::to_string(before + 1));
}

Status RunDaemon(const DaemonOptions& options, EngineProcess& engine) {
  return Daemon(options, engine).Run();
}

}  // namespace mlc::worker
