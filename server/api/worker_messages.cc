#include "server/api/worker_messages.h"

#include <iterator>
#include <optional>
#include <utility>

#include "base/wire/protocol.h"

namespace mlc::server {
namespace {

static_assert(static_cast<int>(WorkerState::kUntested) == proto::UNTESTED);
static_assert(static_cast<int>(WorkerState::kReady) == proto::READY);
static_assert(static_cast<int>(WorkerState::kQuarantined) == proto::QUARANTINED);
static_assert(static_cast<int>(WorkerState::kDraining) == proto::DRAINING);
static_assert(static_cast<int>(WorkerState::kOffline) == proto::OFFLINE);

template <typename Texts>
std::vector<std::string> TakeTexts(Texts* wire) {
  return {std::make_move_iterator(wire->begin()), std::make_move_iterator(wire->end())};
}

Capabilities FromWire(proto::Capabilities&& wire) {
  Capabilities capabilities;
  capabilities.memory_bytes = wire.memory_bytes();
  capabilities.kernels = TakeTexts(wire.mutable_kernels());
  capabilities.llvm = std::move(*wire.mutable_llvm());
  capabilities.nvrtc = std::move(*wire.mutable_nvrtc());
  capabilities.driver = std::move(*wire.mutable_driver());
  capabilities.precisions = TakeTexts(wire.mutable_precisions());
  capabilities.devices = wire.devices();
  return capabilities;
}

void Write(Capabilities&& capabilities, proto::Capabilities& wire) {
  wire.set_memory_bytes(capabilities.memory_bytes);
  for (std::string& kernel : capabilities.kernels) wire.add_kernels(std::move(kernel));
  wire.set_llvm(std::move(capabilities.llvm));
  wire.set_nvrtc(std::move(capabilities.nvrtc));
  wire.set_driver(std::move(capabilities.driver));
  for (std::string& precision : capabilities.precisions) wire.add_precisions(std::move(precision));
  wire.set_devices(capabilities.devices);
}

}  // namespace

WorkerCall FromWire(proto::SynchronizeRequest&& wire, std::vector<std::string>& malformed) {
  WorkerCall call;
  call.worker = std::move(*wire.mutable_worker());
  call.incarnation = std::move(*wire.mutable_incarnation());
  call.build = std::move(*wire.mutable_build());
  call.target = std::move(*wire.mutable_target());
  call.want = wire.want();
  for (const std::string& bytes : wire.holding()) {
    if (const std::optional<Digest> uid = DigestFromWire(bytes)) call.holding.push_back(*uid);
  }
  call.finished.reserve(static_cast<size_t>(wire.finished_size()));
  for (const proto::TrialResult& result : wire.finished()) {
    if (const std::optional<Digest> uid = DigestFromWire(result.task_uid())) {
      call.finished.push_back({*uid, FromWire(result.measurement()), DeviceSeconds(result)});
    } else {
      malformed.push_back(result.task_uid());
    }
  }
  call.draining = wire.draining();
  call.sequence = wire.sequence();
  call.capabilities = FromWire(std::move(*wire.mutable_capabilities()));
  call.use = {wire.device_use().trial_s(), wire.device_use().busy_s()};
  return call;
}

proto::SynchronizeReply ToWire(WorkerOrders&& orders) {
  proto::SynchronizeReply wire;
  for (const Digest& uid : orders.acknowledged) wire.add_acknowledged(ToWire(uid));
  for (RefusedResult& refused : orders.refused) {
    proto::Refusal& refusal = *wire.add_refused();
    refusal.set_task_uid(ToWire(refused.uid));
    refusal.set_reason(std::move(refused.reason));
  }
  for (LeasedTrial& trial : orders.leases) {
    proto::Lease& lease = *wire.add_leases();
    lease.set_task_uid(ToWire(trial.uid));
    lease.set_workload(std::move(trial.workload));
    lease.set_config(std::move(trial.config));
    lease.set_seed(trial.seed);
    lease.set_early_stop_ns(trial.early_stop_ns);
    lease.set_attempt(trial.attempt);
    lease.set_lease_ms(trial.lease_ms);
  }
  for (const Digest& uid : orders.cancelled) wire.add_cancelled(ToWire(uid));
  wire.set_next_poll_ms(orders.next_poll_ms);
  wire.set_drain(orders.drain);
  wire.set_timing_lock(std::move(orders.timing_lock));
  wire.set_stale(orders.stale);
  return wire;
}

proto::ListWorkersReply ToWire(std::vector<WorkerLine>&& workers) {
  proto::ListWorkersReply wire;
  for (WorkerLine& worker : workers) {
    proto::WorkerLine& line = *wire.add_workers();
    line.set_worker(std::move(worker.worker));
    line.set_state(static_cast<proto::WorkerState>(worker.state));
    line.set_reason(std::move(worker.reason));
    line.set_target(std::move(worker.target));
    line.set_build(std::move(worker.build));
    Write(std::move(worker.capabilities), *line.mutable_capabilities());
    line.set_holding(worker.holding);
    line.set_results(worker.results);
    line.set_failures(worker.failures);
    line.set_refused(worker.refused);
    line.set_silent_ms(worker.silent_ms);
    line.set_canary_age_ms(worker.canary_age_ms);
  }
  return wire;
}

}  // namespace mlc::server
