// A provider and a server as the planner sees them: workers start at once unless a test says else.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/fleet/planner.h"

namespace mlc::server::fleet {

using ActionKind = Action::Kind;

inline constexpr const char* kCpu = "target v1 cpu arch=x86_64 isa=avx512 threads=8";
inline constexpr const char* kGpu = "target v1 cuda arch=sm_90a sms=132";

inline PoolTerms CpuPool() {
  PoolTerms terms;
  terms.name = "cpu";
  terms.declared.classes = {"target v1 cpu *"};
  terms.max = 8;
  terms.trials_per_worker = 10;
  return terms;
}

class PlannerTest : public ::testing::Test {
 protected:
  explicit PlannerTest(PoolTerms terms = CpuPool()) : planner_("lab", "inc", {terms}) {}

  void Work(int64_t trials, const std::string& target_class = kCpu) {
    demand_.work = {{{.target_class = target_class}, trials > 0 ? 1 : 0, trials, 0}};
  }
  // One round; what it asks for happens.
  std::vector<Action> Round(int64_t passed_ms = 1'000) {
    now_ms_ += passed_ms;
    for (SeenWorker& worker : demand_.workers) {
      if (!frozen_.contains(worker.name)) continue;
      worker.silent_ms += passed_ms;
    }
    const auto placed = answers_ ? std::optional(placed_) : std::nullopt;
    const std::vector<Action> actions = planner_.Plan(demand_, placed, now_ms_);
    for (const Action& action : actions) {
      if (action.kind != ActionKind::kStart) {
        if (obeys_) Leave(action.worker);
        continue;
      }
      placed_.push_back({action.worker, action.pool, starts_as_, false, ""});
      if (starts_as_ == PlacedState::kRunning && attaches_) Attach(action.worker);
    }
    return actions;
  }
  // Workers are started, call, and are no beginners any more.
  void Settle() {
    Round();
    Round();
    Round(60'000);
  }
  void Attach(const std::string& name) { demand_.workers.push_back({name, offer_, 0, 0, false}); }
  void Leave(const std::string& name) {
    std::erase_if(placed_, [&](const PlacedWorker& worker) { return worker.name == name; });
    std::erase_if(demand_.workers, [&](const SeenWorker& worker) { return worker.name == name; });
  }
  static std::vector<std::string> Names(const std::vector<Action>& actions, ActionKind kind) {
    std::vector<std::string> names;
    for (const Action& action : actions) {
      if (action.kind == kind) names.push_back(action.worker);
    }
    return names;
  }
  size_t Starts(int64_t passed_ms = 1'000) {
    return Names(Round(passed_ms), ActionKind::kStart).size();
  }

  Planner planner_;
  Demand demand_;
  std::vector<PlacedWorker> placed_;
  std::set<std::string> frozen_;
  Offer offer_ = {.target_class = kCpu};
  bool answers_ = true;
  bool attaches_ = true;
  bool obeys_ = true;
  PlacedState starts_as_ = PlacedState::kRunning;
  int64_t now_ms_ = 1'000'000;
};

}  // namespace mlc::server::fleet
