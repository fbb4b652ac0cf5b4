#include "worker/agent/agent.h"

#include <algorithm>
#include <optional>

#include "base/wire/protocol.h"

namespace mlc::worker {
namespace {

// Of results in one message; servers take 16 MiB.
constexpr size_t kMaxResultBytes = 2 << 20;

// The wire carries UTF-8; compilers and crashed processes print anything.
Measurement WithPrintableDetail(Measurement measurement) {
  std::string& detail = measurement.detail;
  std::replace_if(
      detail.begin(), detail.end(), [](char c) { return static_cast<unsigned char>(c) > 126; },
      '?');
  return measurement;
}

}  // namespace

int Agent::FreeCapacity() const {
  const int held = static_cast<int>(holding_.size());
  if (draining_ || measuring_ || held * 2 > options_.slots) return 0;
  if (spool_.size() >= options_.most_unsent) return 0;
  return options_.slots - held;
}

void Agent::Restore(TrialResult result) { spool_[result.uid] = std::move(result); }

proto::SynchronizeRequest Agent::Request() const {
  proto::SynchronizeRequest request;
  request.set_protocol(server::kWireProtocol);
  request.set_worker(options_.name);
  request.set_incarnation(options_.incarnation);
  request.set_build(options_.build);
  request.set_target(options_.target);
  request.set_want(FreeCapacity());
  request.set_draining(draining_);
  for (const Digest& uid : holding_) request.add_holding(server::ToWire(uid));
  request.set_sequence(calls_ + 1);
  *request.mutable_capabilities() = options_.capabilities;
  if (use_.trial_s() > 0) *request.mutable_device_use() = use_;
  size_t bytes = 0;
  for (const auto& [uid, held] : spool_) {
    bytes += 256 + held.measurement.detail.size();
    if (bytes > kMaxResultBytes) {
      request.add_holding(server::ToWire(uid));
      continue;
    }
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(server::ToWire(uid));
    *result.mutable_measurement() = server::ToWire(WithPrintableDetail(held.measurement));
    if (held.device_s) result.set_device_s(*held.device_s);
  }
  return request;
}

Agent::Orders Agent::OnReply(const proto::SynchronizeReply& reply, int64_t now_ms) {
  failures_ = 0;
  ++calls_;
  fresh_results_ = reply.stale();
  last_call_ms_ = now_ms;
  retry_ms_ = now_ms;
  poll_ms_ = std::clamp<int64_t>(reply.next_poll_ms(), 1, 60'000);
  if (reply.drain()) draining_ = true;
  if (reply.stale()) {
    options_.incarnation += '\'';
    calls_ = 0;
  }
  Orders orders;
  for (const std::string& bytes : reply.acknowledged()) {
    Forget(bytes, orders);
  }
  for (const proto::Refusal& refusal : reply.refused()) {
    Forget(refusal.task_uid(), orders);
  }
  for (const std::string& bytes : reply.cancelled()) {
    const auto uid = server::DigestFromWire(bytes);
    if (uid && holding_.erase(*uid) > 0) orders.cancel.push_back(*uid);
  }
  for (const proto::Lease& lease : reply.leases()) {
    const auto uid = server::DigestFromWire(lease.task_uid());
    if (!uid || spool_.contains(*uid) || !holding_.insert(*uid).second) continue;
    lease_ms_ = std::max<int64_t>(lease.lease_ms(), 100);
    orders.start.push_back(
        {*uid, lease.workload(), lease.config(), lease.seed(), lease.early_stop_ns()});
  }
  return orders;
}

Status Agent::OnFailure(const Status& status, int64_t now_ms) {
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kUnimplemented:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
      return status;
    default:
      break;
  }
  const int64_t backoff =
      std::min(options_.first_backoff_ms << std::min(failures_, 10), options_.longest_backoff_ms);
  ++failures_;
  ++calls_;
  retry_ms_ = now_ms + backoff / 2 +
              static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(backoff / 2 + 1)));
  return Status();
}

void Agent::Forget(const std::string& bytes, Orders& orders) {
  const auto uid = server::DigestFromWire(bytes);
  if (uid && spool_.erase(*uid) > 0) orders.forget.push_back(*uid);
}

bool Agent::OnResult(TrialResult result) {
  if (holding_.erase(result.uid) == 0) return false;
  spool_[result.uid] = std::move(result);
  fresh_results_ = true;
  return true;
}

int64_t Agent::NextCallMs() const {
  const int64_t heartbeat = last_call_ms_ + lease_ms_ / 3;
  if (failures_ > 0) return retry_ms_;
  if (measuring_) return heartbeat;
  if (fresh_results_) return retry_ms_;
  if (FreeCapacity() > 0 || !spool_.empty()) return last_call_ms_ + poll_ms_;
  return heartbeat;
}

}  // namespace mlc::worker
