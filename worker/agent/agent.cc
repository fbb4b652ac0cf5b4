#include "worker/agent/agent.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace mlc::worker {
namespace {

constexpr int kProtocol = 1;
// Of results in one message; servers take 16 MiB.
constexpr size_t kMostResultBytes = 2 << 20;

std::string Bytes(const Digest& digest) {
  const auto bytes = digest.ToBytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Digest> DigestOfBytes(const std::string& bytes) {
  std::array<uint8_t, 16> raw;
  if (bytes.size() != raw.size()) return std::nullopt;
  std::memcpy(raw.data(), bytes.data(), raw.size());
  return Digest::FromBytes(raw);
}

void Fill(const Measurement& m, proto::Measurement& wire) {
  wire.set_outcome(static_cast<proto::Outcome>(m.outcome));
  wire.set_median_ns(m.median_ns);
  wire.set_p10_ns(m.p10_ns);
  wire.set_p90_ns(m.p90_ns);
  wire.set_runs(m.runs);
  wire.set_cold_ns(m.cold_ns);
  wire.set_max_error(m.max_error);
  wire.set_build_ms(m.build_ms);
  wire.set_clock_mhz(m.clock_mhz);
  wire.set_calm(m.calm);
  // The wire carries UTF-8; compilers and crashed processes print anything.
  std::string detail = m.detail;
  std::replace_if(
      detail.begin(), detail.end(), [](char c) { return static_cast<unsigned char>(c) > 126; },
      '?');
  wire.set_detail(detail);
}

}  // namespace

int Agent::Want() const {
  const int held = static_cast<int>(holding_.size());
  if (draining_ || measuring_ || held * 2 > options_.slots) return 0;
  if (spool_.size() >= options_.most_unsent) return 0;
  return options_.slots - held;
}

void Agent::Restore(TrialResult result) { spool_[result.uid] = std::move(result); }

proto::SynchronizeRequest Agent::Request() const {
  proto::SynchronizeRequest request;
  request.set_protocol(kProtocol);
  request.set_worker(options_.name);
  request.set_boot(options_.boot);
  request.set_build(options_.build);
  request.set_target(options_.target);
  request.set_want(Want());
  request.set_draining(draining_);
  for (const Digest& uid : holding_) request.add_holding(Bytes(uid));
  request.set_sequence(calls_ + 1);
  *request.mutable_capabilities() = options_.capabilities;
  if (use_.trial_s() > 0) *request.mutable_device_use() = use_;
  size_t bytes = 0;
  for (const auto& [uid, held] : spool_) {
    bytes += 256 + held.measurement.detail.size();
    if (bytes > kMostResultBytes) {
      request.add_holding(Bytes(uid));
      continue;
    }
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(Bytes(uid));
    Fill(held.measurement, *result.mutable_measurement());
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
    options_.boot += '\'';
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
    const auto uid = DigestOfBytes(bytes);
    if (uid && holding_.erase(*uid) > 0) orders.cancel.push_back(*uid);
  }
  for (const proto::Lease& lease : reply.leases()) {
    const auto uid = DigestOfBytes(lease.task_uid());
    if (!uid || spool_.contains(*uid) || !holding_.insert(*uid).second) continue;
    lease_ms_ = std::max<int64_t>(lease.lease_ms(), 100);
    orders.start.push_back({*uid, lease.workload(), lease.config(), lease.seed(), lease.race_ns()});
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
  const auto uid = DigestOfBytes(bytes);
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
  if (Want() > 0 || !spool_.empty()) return last_call_ms_ + poll_ms_;
  return heartbeat;
}

}  // namespace mlc::worker
