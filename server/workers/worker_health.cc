#include "server/workers/worker_health.h"

#include <algorithm>

namespace mlc::server {
namespace {

// This many valid results cancel one bad result: over months, every worker has random bit errors.
constexpr int64_t kResultsPerBadResult = 10'000;

}  // namespace

const WorkerHealth::Worker* WorkerHealth::Find(const std::string& name) const {
  const auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : &found->second;
}

void WorkerHealth::RecordContact(const std::string& name, const std::string& incarnation,
                                 int64_t now_ms) {
  Worker& worker = workers_[name];
  if (worker.incarnation == incarnation) return;
  worker.incarnation = incarnation;
  worker.canary_running = false;
  worker.draining = false;
  worker.drain_reason.clear();
  worker.canary_failures = 0;
  worker.failures = 0;
  if (worker.state == State::kQuarantined) return;
  worker.state = terms_.canaries ? State::kUntested : State::kReady;
  worker.retry_ms = now_ms;
}

bool WorkerHealth::CanaryIsDue(const std::string& name, int64_t now_ms) const {
  const Worker* worker = Find(name);
  if (!terms_.canaries || worker == nullptr || worker->canary_running || worker->draining)
    return false;
  switch (worker->state) {
    case State::kUntested:
      return true;
    case State::kReady:
      return worker->passed_ms < 0 || now_ms - worker->passed_ms >= terms_.canary_every_ms;
    case State::kQuarantined:
      return !worker->held_by_admin && now_ms >= worker->retry_ms;
  }
  return false;
}

void WorkerHealth::CanarySent(const std::string& name) {
  const auto known = workers_.find(name);
  if (known != workers_.end()) known->second.canary_running = true;
}

bool WorkerHealth::CanaryEnded(const std::string& name, const Status& outcome, int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  worker.canary_running = false;
  if (worker.held_by_admin) return false;
  if (outcome.ok()) {
    // What it had done before does not count any more; how long it has to wait next time does.
    if (worker.state == State::kReady) worker.backoff_ms = 0;
    worker.state = State::kReady;
    worker.why.clear();
    worker.canary_failures = 0;
    worker.failures = 0;
    worker.bad_results = 0;
    worker.passed_ms = now_ms;
    return false;
  }
  if (++worker.canary_failures < terms_.max_canary_failures && worker.state != State::kQuarantined)
    return false;
  const bool news = worker.state != State::kQuarantined;
  EnterQuarantine(worker, "canary: " + outcome.message(), now_ms);
  return news;
}

void WorkerHealth::CanaryLost(const std::string& name) {
  const auto found = workers_.find(name);
  if (found != workers_.end()) found->second.canary_running = false;
}

void WorkerHealth::EnterQuarantine(Worker& worker, const std::string& why, int64_t now_ms) {
  worker.state = State::kQuarantined;
  worker.why = why;
  worker.canary_failures = 0;
  worker.failures = 0;
  worker.backoff_ms =
      std::clamp(2 * worker.backoff_ms, terms_.first_backoff_ms, terms_.longest_backoff_ms);
  worker.retry_ms = now_ms + worker.backoff_ms;
}

bool WorkerHealth::RecordFailure(const std::string& name, const std::string& why, int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  if (++worker.failures < terms_.max_failures_in_a_row || !terms_.canaries) return false;
  if (worker.state == State::kQuarantined) return false;
  EnterQuarantine(worker, std::to_string(worker.failures) + " failed trials in a row, last: " + why,
                  now_ms);
  return true;
}

bool WorkerHealth::ReportBadResult(const std::string& name, const std::string& why,
                                   int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  if (++worker.bad_results < terms_.max_bad_results || !terms_.canaries) return false;
  if (worker.state == State::kQuarantined) return false;
  EnterQuarantine(worker,
                  std::to_string(worker.bad_results) + " results that cannot be true, last: " + why,
                  now_ms);
  return true;
}

void WorkerHealth::RecordResult(const std::string& name) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return;
  Worker& worker = known->second;
  worker.failures = 0;
  if (++worker.results % kResultsPerBadResult == 0)
    worker.bad_results = std::max(0, worker.bad_results - 1);
}

void WorkerHealth::Quarantine(const std::string& name, const std::string& why, int64_t now_ms) {
  Worker& worker = workers_[name];
  EnterQuarantine(worker, why.empty() ? "by an administrator" : why, now_ms);
  worker.held_by_admin = true;
}

void WorkerHealth::Drain(const std::string& name, const std::string& why) {
  Worker& worker = workers_[name];
  worker.draining = true;
  worker.drain_reason = why.empty() ? "by an administrator" : why;
}

void WorkerHealth::Release(const std::string& name) {
  Worker& worker = workers_[name];
  worker.held_by_admin = false;
  worker.draining = false;
  worker.drain_reason.clear();
  worker.why.clear();
  worker.bad_results = worker.failures = worker.canary_failures = 0;
  worker.backoff_ms = 0;
  if (worker.state == State::kQuarantined) {
    worker.state = terms_.canaries ? State::kUntested : State::kReady;
  }
}

WorkerHealth::AdminHold WorkerHealth::AdminHoldOf(const std::string& name) const {
  const Worker* worker = Find(name);
  if (worker == nullptr) return {};
  return {worker->held_by_admin ? worker->why : "", worker->draining ? worker->drain_reason : "",
          worker->draining ? worker->incarnation : ""};
}

void WorkerHealth::RestoreAdminHold(const std::string& name, const AdminHold& hold) {
  Worker& worker = workers_[name];
  worker.state = terms_.canaries ? State::kUntested : State::kReady;
  if (!hold.quarantine.empty()) Quarantine(name, hold.quarantine, 0);
  if (hold.drain.empty()) return;
  worker.incarnation = hold.incarnation;
  Drain(name, hold.drain);
}

std::vector<std::string> WorkerHealth::HeldByAdmin() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : workers_) {
    if (worker.held_by_admin) names.push_back(name);
  }
  return names;
}

WorkerHealth::State WorkerHealth::StateOf(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker == nullptr ? State::kUntested : worker->state;
}

bool WorkerHealth::IsReady(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && worker->state == State::kReady;
}

bool WorkerHealth::Draining(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && worker->draining;
}

WorkerHealth::Summary WorkerHealth::SummaryOf(const std::string& name) const {
  Summary summary;
  const Worker* worker = Find(name);
  if (worker == nullptr) return summary;
  summary.state = worker->state;
  summary.why = worker->state == State::kQuarantined ? worker->why : worker->drain_reason;
  summary.draining = worker->draining;
  summary.known = true;
  summary.canary_ms = worker->passed_ms;
  return summary;
}

bool WorkerHealth::IsExcluded(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && (worker->state == State::kQuarantined || worker->draining);
}

void WorkerHealth::Forget(const std::string& name) {
  const auto found = workers_.find(name);
  if (found != workers_.end() && !found->second.held_by_admin) workers_.erase(found);
}

}  // namespace mlc::server
