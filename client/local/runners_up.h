// Chooses runners-up to try in the whole model, and which of them to keep. The time of a kernel
// alone does not show what it costs its neighbours: on a GPU the next kernel starts while this one
// ends, if there is room, and finds in the cache what this one left. So each runner-up of the
// heaviest tasks replaces the fastest config, one at a time, and the model is timed. Pure;
// thread-safe.
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
  double ns = 0;                  // time of one execution alone
  std::string config;             // in use
  std::vector<db::Record> known;  // the fastest configs, best first; may hold `config`
};

// One config that replaces another.
struct Substitution {
  Digest workload;
  int uses = 1;
  double ns = 0;      // time of the config in use
  db::Record record;  // record of the config that replaces it
};

// Returns at most `most` substitutions: for each task at most six configs within 1.3 times the time
// of the one in use. Those come first that may gain most: of heavy tasks and, in each task, of fast
// configs. The second config of a task counts half of its first, the third a third of it.
std::vector<Substitution> RunnersUp(std::vector<HeavyTask> tasks, int most);

// Whether a model with a substitution that takes so many times as long as without it is faster
// beyond what two timings of one model differ by.
bool IsGain(double quotient);

// Returns for each workload the substitution that gained most, if one gained; the largest gain
// first. `quotients` is parallel to `tried`: time of the model with it over that without; 0: it
// could not be timed.
std::vector<size_t> Gains(std::span<const Substitution> tried, std::span<const double> quotients);

// Returns the lock file with the substitutions applied.
package::LockFile Substituted(package::LockFile lock, std::span<const Substitution> made);

// Returns the record of a substitution that is kept, as a confirmation. Its time is that of the
// config that was in use, minus the gain of the model divided by the uses. `gain_ms` > 0. `job` and
// `now_us` distinguish the record.
db::Record RecordOf(const Substitution& made, double gain_ms, const Digest& job, int64_t now_us);

}  // namespace mlc::client
