#include "worker/agent/daemon.h"

#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include "base/rpc/clock_watch.h"
#include "base/steady_time.h"
#include "proto/worker.grpc.pb.h"
#include "worker/agent/agent.h"
#include "worker/agent/capabilities.h"
#include "worker/agent/spool.h"
#include "worker/agent/worker_session.h"

namespace mlc::worker {
namespace {

constexpr int64_t kCallTimeoutMs = 10'000;
constexpr int64_t kMaxSleepMs = 1'000;
constexpr int64_t kReconnectMs = 1'000;

std::string RandomId() {
  std::random_device device;
  Digest digest;
  digest.high = (uint64_t{device()} << 32) | device();
  digest.low = (uint64_t{device()} << 32) | device();
  return digest.ToText();
}

// A name may hold anything; a file name may not.
std::string FileName(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_') c = '_';
  }
  return name + ".spool";
}

proto::DeviceUse UseOf(const EngineProcess& engine) {
  proto::DeviceUse use;
  use.set_trial_s(engine.use().trial_s);
  use.set_busy_s(engine.use().busy_s);
  return use;
}

class Daemon {
 public:
  Daemon(const DaemonOptions& options, EngineProcess& engine, transport::Connection& connection)
      : options_(options),
        engine_(engine),
        connection_(connection),
        stub_(proto::Workers::NewStub(connection.channel())),
        parent_(getppid()) {
    const std::string incarnation = RandomId();
    for (size_t i = 0; i < engine.devices().size(); ++i) {
      const DeviceDescription& device = engine.devices()[i];
      const std::string name = DeviceSlotName(options.name, engine.devices(), i);
      device_slots_.push_back({Agent({.name = name,
                                      .incarnation = incarnation,
                                      .build = options.build,
                                      .target = device.target,
                                      .capabilities = CapabilitiesOf(device),
                                      .slots = options.slots,
                                      .seed = DigestOf(name + incarnation).low})});
    }
    if (!options_.gate.empty()) SetGate({options_.gate, /*make=*/true});
  }
  ~Daemon() {
    device_slots_.clear();  // their streams write to the descriptor
    close(wakes_);
  }

  // Takes up what an earlier process of this worker did not get rid of.
  Status OpenSpools() {
    if (options_.state.empty()) return Status();
    for (DeviceSlot& slot : device_slots_) {
      slot.spool = MLC_TRY(Spool::Open(options_.state + "/" + FileName(slot.agent.name())));
      std::vector<TrialResult> results = slot.spool->results();
      if (!results.empty()) {
        options_.logger->info("{} results of an earlier run to send", results.size());
      }
      for (TrialResult& result : results) slot.agent.Restore(std::move(result));
    }
    return Status();
  }

  Status Run() {
    for (;;) {
      if (AllOf([](const DeviceSlot& slot) { return slot.agent.done(); })) return end_;
      WatchClock();
      if (options_.exit_with_parent && getppid() != parent_) return Status();
      int64_t now = NowMs();
      if (drain_deadline_ms_ > 0 && now > drain_deadline_ms_) {
        size_t lost = 0;
        for (const DeviceSlot& slot : device_slots_) lost += slot.agent.unacknowledged();
        options_.logger->warn("left with {} results that the server does not know{}", lost,
                              options_.state.empty() ? "" : "; they are kept for the next start");
        return end_;
      }
      int64_t next = now + kMaxSleepMs;
      bool called = false;
      for (size_t i = 0; i < device_slots_.size(); ++i) {
        if (device_slots_[i].agent.done()) continue;
        if (device_slots_[i].agent.NextCallMs() <= NowMs()) {
          MLC_TRY(Synchronize(i));
          called = true;
        }
        next = std::min(next, device_slots_[i].agent.NextCallMs());
      }
      if (called && options_.once && AllOf([](const DeviceSlot& slot) { return slot.idle; }))
        Drain();
      now = NowMs();
      MLC_TRY(Wait(called ? 0 : std::max<int64_t>(0, next - now)));
    }
  }

 private:
  struct DeviceSlot {
    Agent agent;
    std::unique_ptr<Spool> spool = nullptr;  // null without a state folder
    std::unique_ptr<WorkerSession> session = nullptr;
    bool spool_fails = false;
    bool greeted = false;
    bool idle = false;
  };

  template <typename Predicate>
  bool AllOf(const Predicate& predicate) const {
    return std::all_of(device_slots_.begin(), device_slots_.end(), predicate);
  }

  void Drain() {
    for (DeviceSlot& slot : device_slots_) slot.agent.Drain();
    if (drain_deadline_ms_ == 0) drain_deadline_ms_ = NowMs() + options_.drain_grace_ms;
  }

  void WatchClock() {
    const int64_t back_ms = end_.ok() ? clock_.SetBackMs() : 0;
    if (back_ms == 0) return;
    end_ =
        Status(StatusCode::kAborted,
               "the clock was set back by " + std::to_string(back_ms / 1000) +
                   " s, which stops the timers of connections for as long: start the worker again");
    options_.logger->warn("draining: {}", end_.message());
    Drain();
  }

  void SetGate(const GateFile& file) {
    if (file.path == gate_) return;
    gate_ = file.path;
    engine_.SetGate(file);
  }

  void TakeGate(const std::string& named) {
    if (named.empty()) return;
    const GateFile file = GateNamedBy(options_.server.address, named);
    if (!file.path.empty()) return SetGate(file);
    if (std::exchange(gate_refused_, true)) return;
    options_.logger->warn(
        "the server names a file to lock while timing: not done for a server over a network; "
        "--gate names one");
  }

  Status Wait(int64_t timeout_ms) {
    const short engine_events = engine_.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    pollfd waiting[] = {
        {engine_.fd(), engine_events, 0}, {options_.signals, POLLIN, 0}, {wakes_, POLLIN, 0}};
    (void)poll(waiting, 3, static_cast<int>(timeout_ms));
    uint64_t wakes = 0;
    if ((waiting[2].revents & POLLIN) != 0 && read(wakes_, &wakes, sizeof(wakes)) > 0) {
      for (DeviceSlot& slot : device_slots_) slot.agent.Wake();
    }
    if ((waiting[1].revents & POLLIN) != 0) {
      signalfd_siginfo info;
      (void)!read(options_.signals, &info, sizeof(info));
      if (++signals_ > 1) return Status(StatusCode::kCancelled, "stopped by a second signal");
      size_t holding = 0;
      for (const DeviceSlot& slot : device_slots_) holding += slot.agent.holding();
      options_.logger->info("draining: {} trials to finish", holding);
      Drain();
    }
    engine_.Flush();
    EngineProcess::Events events = MLC_TRY(engine_.Read());
    for (const std::string& warning : events.warnings) options_.logger->warn("{}", warning);
    for (DeviceSlot& slot : device_slots_) {
      // Only the one that holds the trial takes it.
      for (const TrialResult& result : events.results) {
        if (slot.agent.OnResult(result) && slot.spool != nullptr) slot.spool->Add(result);
      }
      SyncSpool(slot);
      if (events.measured) slot.agent.set_measuring(false);
      if (events.wants_to_measure) slot.agent.set_measuring(true);
    }
    if (events.wants_to_measure) engine_.AllowMeasurement();
    return Status();
  }

  // Without a disk the worker goes on: the results are in memory, too.
  void SyncSpool(DeviceSlot& slot) {
    if (slot.spool == nullptr) return;
    const Status status = slot.spool->Sync();
    if (!status.ok() && !slot.spool_fails) {
      options_.logger->warn("results would not survive a restart: {}", status.message());
    }
    slot.spool_fails = !status.ok();
  }

  // REQUIRES: the server has just answered.
  void KeepSession(DeviceSlot& slot) {
    const bool old =
        slot.session != nullptr && slot.session->incarnation() != slot.agent.incarnation();
    const bool broken = slot.session != nullptr && slot.session->ended();
    if (broken && slot.session->failed_permanently()) return;
    if (slot.session != nullptr && !broken && !old) return;
    slot.session.reset();
    slot.session =
        WorkerSession::Start(*stub_, slot.agent.name(), slot.agent.incarnation(), wakes_);
  }

  // gRPC's words do not tell a wrong certificate from a server that is not there. Going the way by
  // hand takes seconds at worst: once per outage.
  void ExplainOnce(const Status& status) {
    if (explained_ || status.code() != StatusCode::kUnavailable) return;
    explained_ = true;
    const Status why = connection_.Explain();
    if (!why.ok()) options_.logger->warn("{}; trying again", why.message());
  }

  Status Synchronize(size_t index) {
    DeviceSlot& slot = device_slots_[index];
    Agent& agent = slot.agent;
    const bool was_connected = agent.connected();
    if (!was_connected) (void)connection_.Await(kReconnectMs);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(kCallTimeoutMs));
    proto::SynchronizeReply reply;
    if (engine_.devices()[index].tells_use) agent.set_device_use(UseOf(engine_));
    const proto::SynchronizeRequest request = agent.Request();
    const grpc::Status called = stub_->Synchronize(&context, request, &reply);
    if (!called.ok()) {
      const Status status(static_cast<StatusCode>(called.error_code()), called.error_message());
      if (was_connected) {
        options_.logger->warn("{}: {}; trying again", options_.server.address, status.ToString());
      }
      ExplainOnce(status);
      return agent.OnFailure(status, NowMs());
    }
    if (!slot.greeted || !was_connected)
      options_.logger->info("connected to {}", options_.server.address);
    slot.greeted = true;
    explained_ = false;
    for (const proto::Refusal& refusal : reply.refused()) {
      options_.logger->warn("a result was refused: {}", refusal.reason());
    }
    TakeGate(reply.timing_lock());
    const Agent::Orders orders = agent.OnReply(reply, NowMs());
    for (const Digest& uid : orders.cancel) engine_.Cancel(uid);
    for (const Digest& uid : orders.forget) {
      if (slot.spool != nullptr) slot.spool->Forget(uid);
    }
    SyncSpool(slot);
    KeepSession(slot);
    for (Trial trial : orders.start) {
      trial.target = static_cast<int>(index);
      engine_.Add(trial);
    }
    if (reply.drain()) Drain();
    slot.idle = agent.holding() == 0 && agent.unacknowledged() == 0;
    return Status();
  }

  const DaemonOptions& options_;
  EngineProcess& engine_;
  const transport::Connection& connection_;
  std::vector<DeviceSlot> device_slots_;
  std::unique_ptr<proto::Workers::Stub> stub_;
  const pid_t parent_;
  const int wakes_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::string gate_;
  bool gate_refused_ = false;
  int signals_ = 0;
  bool explained_ = false;
  int64_t drain_deadline_ms_ = 0;
  transport::ClockWatch clock_;
  Status end_;  // what its end means
};

}  // namespace

std::string SuffixOf(const DeviceDescription& device) {
  std::string suffix = "-" + device.kind;
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix;
}

std::string DeviceSlotName(const std::string& name, const std::vector<DeviceDescription>& devices,
                           size_t slot) {
  if (devices.size() == 1) return name;
  const auto before = std::count_if(
      devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(slot),
      [&](const DeviceDescription& other) { return other.kind == devices[slot].kind; });
  return name + SuffixOf(devices[slot]) + (before == 0 ? "" : std::to_string(before + 1));
}

GateFile GateNamedBy(const std::string& server_address, const std::string& path) {
  const bool here = server_address.starts_with("unix:");
  return here && path.starts_with('/') ? GateFile{path, /*make=*/false} : GateFile{};
}

Status RunDaemon(const DaemonOptions& options, EngineProcess& engine) {
  const auto connection = MLC_TRY(transport::Connection::Open(options.server));
  Daemon daemon(options, engine, *connection);
  MLC_TRY(daemon.OpenSpools());
  return daemon.Run();
}

}  // namespace mlc::worker
