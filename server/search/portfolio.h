// The search of a whole job over abstract candidates: which task gets the next trial, and what all
// tasks learn together. Every task first gets one trial; then trials go where they are expected to
// save most time of the whole model; the last ones measure the leaders again. Deterministic; not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/search/task_search.h"

namespace mlc::server {

struct PortfolioTask {
  struct Known {
    PointRef point;
    Ending ending;
    double ns;
  };
  std::unique_ptr<CandidateSource> source;
  double occurrences = 1;
  std::vector<Known> known;
  std::vector<PointRef> related;  // good for similar tasks, best first
};

class Portfolio {
 public:
  struct Options {
    int64_t trials = 0;
    uint64_t seed = 0;
  };
  struct Seen {
    Pick pick;
    Ending ending = Ending::kNotMade;
    double ns = 0;
  };
  using SavedRows = std::vector<std::pair<std::string, costmodel::Experience>>;

  // `rows`: by family name, what earlier jobs left.
  Portfolio(std::vector<PortfolioTask> tasks, const SavedRows& rows, Options options);

  std::vector<Pick> Propose(int count);
  void Learn(std::span<const Seen> batch);
  // The last Propose found nothing, and nothing was learned since.
  bool Done() const { return exhausted_; }
  const TaskSearch& task(int number) const { return *tasks_[static_cast<size_t>(number)].search; }
  size_t size() const { return tasks_.size(); }
  SavedRows Gathered() const;

 private:
  struct Task {
    std::unique_ptr<TaskSearch> search;
    double occurrences = 1;
    double gain = 0;     // per trial, in time of the model
    bool fresh = false;  // the gain is up to date
  };

  int Neediest();
  bool ProposeRepeat(Pick& pick);
  bool ProposeNew(Pick& pick);
  bool CanVerify() const;

  Options options_;
  SharedModels models_;
  std::vector<Task> tasks_;
  int64_t proposed_ = 0;
  bool exhausted_ = false;
};

}  // namespace mlc::server
