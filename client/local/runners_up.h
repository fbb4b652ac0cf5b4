// Which kernels are worth a try in the whole model, and which of them to keep. A kernel's own time
// does not tell what it costs its neighbours: on a GPU the next kernel begins while this one ends,
// where it leaves room, and the next one finds in the cache what this one left there. So the
// runners-up of the heaviest tasks take the place of the fastest config, one at a time, and the
// model is timed. Pure; thread-safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "compiler/package/lock_file.h"
#include "db/record.h"

namespace mlc::client {

struct HeavyTask {
  Digest workload;
  int uses = 1;                   // executions in the model
  double ns = 0;                  // of one, as far as its own time tells
  std::string config;             // in use
  std::vector<db::Record> known;  // the fastest configs, best first; may hold `config`
};

// One config in the place of another.
struct Substitution {
  Digest workload;
  int uses = 1;
  double ns = 0;      // of the config in use
  db::Record record;  // of the one that takes its place
};

// At most `most`, those of heavy tasks first: of each task the configs within 1.3 times its time,
// at most six.
std::vector<Substitution> RunnersUp(std::vector<HeavyTask> tasks, int most);

// Of each workload the substitution that made the model fastest, if it gained at least 0.4 % of
// `base_ms`. `ms` is parallel to `tried`; 0: it could not be timed.
std::vector<size_t> Gains(std::span<const Substitution> tried, std::span<const double> ms,
                          double base_ms);

// The lock with the substitutions made.
package::LockFile Substituted(package::LockFile lock, std::span<const Substitution> made);

// The record of a substitution that is kept, as a confirmation: the time of the config
// that was in use, less what an execution of the model gained by each use. `gain_ms` > 0. `job` and
// `now_us` make it a record of its own.
db::Record RecordOf(const Substitution& made, double gain_ms, const Digest& job, int64_t now_us);

}  // namespace mlc::client
