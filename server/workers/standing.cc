#include "server/workers/standing.h"

#include <algorithm>

namespace mlc::server {
namespace {

// So many good results make up for a false one: over months, cosmic rays happen to everybody.
constexpr int64_t kResultsForAFalseOne = 10'000;

}  // namespace

const Standings::Worker* Standings::Find(const std::string& name) const {
  const auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : &found->second;
}

void Standings::Met(const std::string& name, const std::string& incarnation, int64_t now_ms) {
  Worker& worker = workers_[name];
  if (worker.incarnation == incarnation) return;
  worker.incarnation = incarnation;
  worker.testing = false;
  worker.draining = false;
  worker.leaves.clear();
  worker.tries = 0;
  worker.failures = 0;
  if (worker.state == State::kQuarantined) return;
  worker.state = terms_.canaries ? State::kUntested : State::kReady;
  worker.retry_ms = now_ms;
}

bool Standings::WantsCanary(const std::string& name, int64_t now_ms) const {
  const Worker* worker = Find(name);
  if (!terms_.canaries || worker == nullptr || worker->testing || worker->draining) return false;
  switch (worker->state) {
    case State::kUntested:
      return true;
    case State::kReady:
      return worker->passed_ms < 0 || now_ms - worker->passed_ms >= terms_.canary_every_ms;
    case State::kQuarantined:
      return !worker->by_hand && now_ms >= worker->retry_ms;
  }
  return false;
}

void Standings::CanarySent(const std::string& name) {
  const auto known = workers_.find(name);
  if (known != workers_.end()) known->second.testing = true;
}

bool Standings::CanaryEnded(const std::string& name, const Status& verdict, int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  worker.testing = false;
  if (worker.by_hand) return false;
  if (verdict.ok()) {
    // What it had done before does not count any more; how long it has to wait next time does.
    if (worker.state == State::kReady) worker.backoff_ms = 0;
    worker.state = State::kReady;
    worker.why.clear();
    worker.tries = 0;
    worker.failures = 0;
    worker.lies = 0;
    worker.passed_ms = now_ms;
    return false;
  }
  if (++worker.tries < terms_.canary_tries && worker.state != State::kQuarantined) return false;
  const bool news = worker.state != State::kQuarantined;
  Isolate(worker, "canary: " + verdict.message(), now_ms);
  return news;
}

void Standings::CanaryLost(const std::string& name) {
  const auto found = workers_.find(name);
  if (found != workers_.end()) found->second.testing = false;
}

void Standings::Isolate(Worker& worker, const std::string& why, int64_t now_ms) {
  worker.state = State::kQuarantined;
  worker.why = why;
  worker.tries = 0;
  worker.failures = 0;
  worker.backoff_ms =
      std::clamp(2 * worker.backoff_ms, terms_.first_backoff_ms, terms_.longest_backoff_ms);
  worker.retry_ms = now_ms + worker.backoff_ms;
}

bool Standings::Failed(const std::string& name, const std::string& why, int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  if (++worker.failures < terms_.failures_in_a_row || !terms_.canaries) return false;
  if (worker.state == State::kQuarantined) return false;
  Isolate(worker,
          std::to_string(worker.failures) + " trials in a row that it could not make, last: " + why,
          now_ms);
  return true;
}

bool Standings::ToldFalsely(const std::string& name, const std::string& why, int64_t now_ms) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return false;
  Worker& worker = known->second;
  if (++worker.lies < terms_.false_results || !terms_.canaries) return false;
  if (worker.state == State::kQuarantined) return false;
  Isolate(worker, std::to_string(worker.lies) + " results that cannot be true, last: " + why,
          now_ms);
  return true;
}

void Standings::Delivered(const std::string& name) {
  const auto known = workers_.find(name);
  if (known == workers_.end()) return;
  Worker& worker = known->second;
  worker.failures = 0;
  if (++worker.delivered % kResultsForAFalseOne == 0) worker.lies = std::max(0, worker.lies - 1);
}

void Standings::Quarantine(const std::string& name, const std::string& why, int64_t now_ms) {
  Worker& worker = workers_[name];
  Isolate(worker, why.empty() ? "by hand" : why, now_ms);
  worker.by_hand = true;
}

void Standings::Drain(const std::string& name, const std::string& why) {
  Worker& worker = workers_[name];
  worker.draining = true;
  worker.leaves = why.empty() ? "by hand" : why;
}

void Standings::Release(const std::string& name) {
  Worker& worker = workers_[name];
  worker.by_hand = false;
  worker.draining = false;
  worker.leaves.clear();
  worker.why.clear();
  worker.lies = worker.failures = worker.tries = 0;
  worker.backoff_ms = 0;
  if (worker.state == State::kQuarantined) {
    worker.state = terms_.canaries ? State::kUntested : State::kReady;
  }
}

Standings::Hold Standings::HoldOf(const std::string& name) const {
  const Worker* worker = Find(name);
  if (worker == nullptr) return {};
  return {worker->by_hand ? worker->why : "", worker->draining ? worker->leaves : "",
          worker->draining ? worker->incarnation : ""};
}

void Standings::Restore(const std::string& name, const Hold& hold) {
  Worker& worker = workers_[name];
  worker.state = terms_.canaries ? State::kUntested : State::kReady;
  if (!hold.quarantine.empty()) Quarantine(name, hold.quarantine, 0);
  if (hold.drain.empty()) return;
  worker.incarnation = hold.incarnation;
  Drain(name, hold.drain);
}

std::vector<std::string> Standings::Held() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : workers_) {
    if (worker.by_hand) names.push_back(name);
  }
  return names;
}

Standings::State Standings::StateOf(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker == nullptr ? State::kUntested : worker->state;
}

bool Standings::MayWork(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && worker->state == State::kReady;
}

bool Standings::Draining(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && worker->draining;
}

Standings::Line Standings::LineOf(const std::string& name) const {
  Line line;
  const Worker* worker = Find(name);
  if (worker == nullptr) return line;
  line.state = worker->state;
  line.why = worker->state == State::kQuarantined ? worker->why : worker->leaves;
  line.draining = worker->draining;
  line.known = true;
  line.canary_ms = worker->passed_ms;
  return line;
}

bool Standings::IsKept(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && (worker->state == State::kQuarantined || worker->draining);
}

void Standings::Forget(const std::string& name) {
  const auto found = workers_.find(name);
  if (found != workers_.end() && !found->second.by_hand) workers_.erase(found);
}

}  // namespace mlc::server
