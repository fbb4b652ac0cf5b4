// The interface of a search: it decides which trials to make next. One object handles a whole job,
// including which task gets the next trial. Pure: seeded, no input or output, no clock, no threads
// that outlive a call. The same input and the same calls give the same proposals, byte for byte. So
// a restarted job resumes: it repeats its calls with the results in the log. Not thread-safe.
//
// The calls of one job, with two batches in flight (there may be more):
//   Propose Propose Learn Propose Learn Propose Learn ... Learn Models
// Each Learn gets one whole batch, in the order in which Propose returned it.
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

// A trial of an earlier job. Its config may be of an old version of the family.
struct PriorTrial {
  schedule::Config config;
  Measurement measurement;
  bool confirmed = false;  // measured side by side with other leaders
};

struct SearchTask {
  graph::Workload workload;
  int occurrences = 1;
  // Trials of the same workload on the same target class, in the order of the log.
  std::vector<PriorTrial> prior;
  // Executions in each variant of the model; only the fastest variant is built. All tasks have the
  // same number of entries. Empty: there is one variant, with `occurrences`.
  std::vector<int> uses = {};
};

// A cost model in the form that the log stores.
struct SavedModel {
  std::string family;  // or "*"
  Digest features;     // schema of the feature table it reads
  std::string bytes;
};

struct SearchInput {
  std::vector<SearchTask> tasks;
  // Similar workloads of other tasks, for transfer. They do not include the workload of a task.
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
  // If not 0, trials of this task with the same number form one interleaved group: the worker
  // measures them in alternation on the same inputs. A batch has a group whole.
  int group = 0;
  // The arm that proposed it, in one word: "default", "transfer", "model", "neighbour", "random",
  // "descent", "verify".
  std::string arm;
  int64_t predicted_rank = 0;  // 1 = predicted fastest of its candidates; 0 = not ranked
  double predicted_ns = 0;     // 0 = not predicted
  // The worker may end the trial as kTooSlow once it is certain to be slower than this; 0: never.
  double early_stop_ns = 0;
};

// The result of a proposal. kInfra: no worker could run the trial, so it says nothing about the
// config.
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
  bool done = false;      // the search expects no further gain
  // Until there is a correct trial: the config that a build would use, and its expected time. The
  // time is that of the transferred config or, without one, the prediction for the default. Empty
  // and 0 if unknown.
  std::optional<schedule::Config> prior_config;
  double estimate_ns = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Returns at most `count` proposals. If it returns none while no batch is in flight, the search
  // has ended.
  virtual std::vector<Proposal> Propose(int count) = 0;
  virtual void Learn(std::span<const Observation> batch) = 0;
  // True if no trial is worth making.
  virtual bool Done() const = 0;
  // Why no trial is worth making, in one line for display. REQUIRES: Done().
  virtual std::string WhyDone() const { return "nothing is left to try"; }
  // One per task, in order.
  virtual std::vector<TaskProgress> Progress() const = 0;
  // The models for later jobs. Call it once, at the end.
  virtual std::vector<SavedModel> Models() const = 0;
};

using StrategyFactory = std::function<std::unique_ptr<Strategy>(SearchInput input)>;

}  // namespace mlc::server
