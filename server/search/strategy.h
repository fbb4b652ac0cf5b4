// The search: decides what to try next. One object handles a whole job: which task gets the next
// trial is part of the search. Pure: seeded, no input or output, no clock, no threads that outlive
// a call; the same input and the same calls give the same proposals, byte for byte. That is how
// jobs resume: a restarted job repeats its calls with results read from the log. Not thread-safe.
//
// The calls of one job, with two batches in flight (there may be more):
//   Propose Propose Learn Propose Learn Propose Learn ... Learn Models
// Each Learn has one batch whole, in the order in which Propose gave it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/measurement.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"
#include "costmodel/transfer.h"

namespace mlc::server {

// A trial known from earlier jobs. Its family's version may be an old one.
struct PriorTrial {
  schedule::Config config;
  Measurement measurement;
  bool confirmed = false;  // measured side by side with other leaders
};

struct SearchTask {
  graph::Workload workload;
  int occurrences = 1;
  // Of the same workload on the same class of target, in the log's order.
  std::vector<PriorTrial> prior;
  // Executions in each variant of the model, of which the fastest will be built. All tasks have as
  // many; none: there is one variant, with `occurrences`.
  std::vector<int> uses = {};
  // Without `prior`: fast configs of the same workload on other targets of the same kind, to be
  // tried in this order.
  std::vector<schedule::Config> of_other_targets = {};
};

// A cost model as it is kept in the log.
struct SavedModel {
  std::string family;  // or "*"
  Digest features;     // schema of the feature table it reads
  std::string bytes;
};

struct SearchInput {
  std::vector<SearchTask> tasks;
  // Workloads like the tasks', for transfer. A task's own workload is not among them.
  std::vector<costmodel::SimilarWorkload> related;
  std::vector<SavedModel> models;
  target::Target target;
  uint64_t seed = 0;
  int64_t trials = 0;  // the job's budget; the search may end earlier and is never asked for more
};

struct Proposal {
  int task = 0;  // of SearchInput::tasks
  schedule::Config config;
  // 0 for the first trial of a config; 1, 2, ... to measure it again. Task and config and repeat
  // together are proposed at most once.
  int repeat = 0;
  // Not 0: trials of this task with the same number are measured as one interleaved group:
  // alternately and on the same inputs. They are together in one batch.
  int group = 0;
  // Why, in one word: "default", "transfer", "model", "neighbour", "random", "descent", "restart",
  // "verify".
  std::string arm;
  int64_t predicted_rank = 0;  // 1 = predicted fastest of its candidates; 0 = not ranked
  double predicted_ns = 0;     // 0 = not predicted
  // The worker may drop the trial as kTooSlow once it is surely slower than this; 0 = never.
  double early_stop_ns = 0;
};

// kInfra says that the trial could not be made; it says nothing about the config.
struct Observation {
  Proposal proposal;
  Measurement measurement;
};

struct TaskProgress {
  int64_t trials = 0;  // learned, without prior ones
  double best_ns =
      0;  // fastest correct trial, prior ones of the current versions included; 0: none
  std::optional<schedule::Config> best;
  double default_ns = 0;  // the first default config's time; 0 until measured
  bool done = false;      // the search expects nothing more from it
  // What a build would use as long as there is no correct trial, and how long that may take: a
  // transferred config's time, else the default's by the models. Empty and 0 if nothing
  // is known.
  std::optional<schedule::Config> prior_config;
  double estimate_ns = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // At most `count` proposals. An empty answer with no batch in flight ends the search.
  virtual std::vector<Proposal> Propose(int count) = 0;
  virtual void Learn(std::span<const Observation> batch) = 0;
  // Nothing is worth trying any more.
  virtual bool Done() const = 0;
  // Why nothing is, in one line for people. REQUIRES: Done().
  virtual std::string WhyDone() const { return "nothing is left to try"; }
  // One per task, in order.
  virtual std::vector<TaskProgress> Progress() const = 0;
  // What the next job should start from; asked once, at the end.
  virtual std::vector<SavedModel> Models() const = 0;
};

using StrategyFactory = std::function<std::unique_ptr<Strategy>(SearchInput input)>;

}  // namespace mlc::server
