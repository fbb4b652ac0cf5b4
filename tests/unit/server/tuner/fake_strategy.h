// A search without families: proposes fake/1 x=0, 1, 2, ... for its tasks in turn, and keeps what
// it learned as text, so that tests can compare whole runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "server/search/strategy.h"

namespace mlc::server {

// Results depend on the config alone.
inline Measurement FakeMeasurement(int64_t x) {
  Measurement m;
  if (x % 7 == 3) {
    m.outcome = Outcome::kRunError;
    m.detail = "SIGSEGV";
    return m;
  }
  m.outcome = Outcome::kOk;
  m.median_ns = 1000.0 + static_cast<double>((x * 37) % 100);
  m.p10_ns = m.median_ns - 1;
  m.p90_ns = m.median_ns + 1;
  m.runs = 11;
  return m;
}

class FakeStrategy : public Strategy {
 public:
  FakeStrategy(SearchInput input, int64_t configs, std::shared_ptr<std::string> story)
      : seed_(input.seed), tasks_(input.tasks.size()), configs_(configs), story_(std::move(story)) {
    progress_.resize(tasks_);
  }

  std::vector<Proposal> Propose(int count) override {
    std::vector<Proposal> batch;
    for (; count > 0 && next_ < configs_; --count, ++next_) {
      Proposal proposal;
      proposal.task = static_cast<int>(static_cast<size_t>(next_) % tasks_);
      proposal.config.family = "fake";
      proposal.config.knobs = {{"x", next_}};
      proposal.arm = next_ == 0 ? "default" : "random";
      batch.push_back(proposal);
    }
    *story_ += "propose " + std::to_string(batch.size()) + "\n";
    return batch;
  }

  void Learn(std::span<const Observation> batch) override {
    *story_ += "learn";
    for (const Observation& seen : batch) {
      *story_ += " " + std::to_string(seen.proposal.config["x"]) + ":" +
                 std::string(ToText(seen.measurement.outcome));
      TaskProgress& task = progress_[static_cast<size_t>(seen.proposal.task)];
      ++task.trials;
      const double ns = seen.measurement.median_ns;
      if (seen.measurement.outcome == Outcome::kOk && (task.best_ns == 0 || ns < task.best_ns)) {
        task.best_ns = ns;
        task.best = seen.proposal.config;
      }
    }
    *story_ += "\n";
  }

  bool Done() const override { return next_ >= configs_; }
  std::vector<TaskProgress> Progress() const override { return progress_; }
  std::vector<SavedModel> Models() const override {
    return {{"*", Digest{1, 2}, std::to_string(seed_) + *story_}};
  }

 private:
  uint64_t seed_;
  size_t tasks_;
  int64_t configs_;
  int64_t next_ = 0;
  std::shared_ptr<std::string> story_;
  std::vector<TaskProgress> progress_;
};

inline graph::Workload MakeWorkload(int64_t size) {
  graph::Graph graph;
  graph::TensorType type;
  type.dims = {size};
  const graph::ValueId input = graph.Input(type);
  graph.outputs() = {graph.Pointwise(ScalarOp::kNeg, {input})};
  return *graph::Workload::Create(std::move(graph), 1e-4);
}

}  // namespace mlc::server
