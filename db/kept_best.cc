#include "db/kept_best.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "db/confirmed_times.h"

namespace mlc::db {
namespace {

constexpr int64_t kPage = 4096;
constexpr size_t kFastest = 64;

// The part of a record that decides. The order of equal times and moments is that of the records'
// ids, which do not depend on the log.
struct Time {
  Digest uid;
  double ns = 0;
  int64_t created_us = 0;
};

bool IsFaster(const Time& a, const Time& b) {
  return std::tie(a.ns, a.uid) < std::tie(b.ns, b.uid);
}
bool IsNewer(const Time& a, const Time& b) {
  return std::tie(a.created_us, a.uid) > std::tie(b.created_us, b.uid);
}

// What is known of one config.
struct Known {
  std::optional<Time> single, confirmation;

  void Add(const Known& other) {
    if (other.single && (!single || IsFaster(*other.single, *single))) single = other.single;
    const bool newer =
        other.confirmation && (!confirmation || IsNewer(*other.confirmation, *confirmation));
    if (newer) confirmation = other.confirmation;
  }
  ConfigTimes times() const {
    return {single ? single->ns : 0, confirmation ? confirmation->ns : 0};
  }
  const Digest& record() const { return confirmation ? confirmation->uid : single->uid; }
};

using Configs = std::map<std::string, Known>;

struct Tuning {
  int64_t begin_us = INT64_MAX;
  Configs configs;
};

// Asks `accept` about each config once.
class Accepted {
 public:
  explicit Accepted(const AcceptConfig& accept) : accept_(accept) {}
  bool Has(const std::string& config) {
    const auto [known, is_new] = known_.try_emplace(config, true);
    if (is_new && accept_) known->second = accept_(config);
    return known->second;
  }

 private:
  const AcceptConfig& accept_;
  std::map<std::string, bool> known_;
};

// The configs of a tuning that can win, then or later: those that it confirmed, and the fastest.
Configs Leaders(const Configs& configs, Accepted& accepted) {
  Configs leaders;
  std::vector<std::pair<double, const std::string*>> singles;
  for (const auto& [config, known] : configs) {
    if (!known.confirmation) {
      singles.emplace_back(known.single->ns, &config);
    } else if (accepted.Has(config)) {
      leaders.emplace(config, known);
    }
  }
  std::sort(singles.begin(), singles.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  });
  size_t fastest = 0;
  for (const auto& [ns, config] : singles) {
    if (fastest == kFastest) break;
    if (!accepted.Has(*config)) continue;
    leaders.emplace(*config, configs.at(*config));
    ++fastest;
  }
  return leaders;
}

void Add(const Record& record, std::map<Digest, Tuning>& tunings) {
  Tuning& tuning = tunings[record.job_id];
  tuning.begin_us = std::min(tuning.begin_us, record.created_us);
  const Time time{record.task_uid, record.measurement.median_ns, record.created_us};
  Known one;
  (IsConfirmation(record) ? one.confirmation : one.single) = time;
  tuning.configs[record.config].Add(one);
}

// In the order of their beginnings.
std::vector<const Configs*> Ordered(const std::map<Digest, Tuning>& tunings) {
  std::vector<std::tuple<int64_t, Digest, const Configs*>> order;
  for (const auto& [job, tuning] : tunings) {
    order.emplace_back(tuning.begin_us, job, &tuning.configs);
  }
  std::sort(order.begin(), order.end());
  std::vector<const Configs*> ordered;
  for (const auto& [begin_us, job, configs] : order) ordered.push_back(configs);
  return ordered;
}

// The fastest config of all, unless it beats the winner so far not beyond doubt.
std::string NextWinner(const Configs& all, const std::string& winner) {
  std::vector<ConfigTimes> times;
  for (const auto& [config, known] : all) times.push_back(known.times());
  const double factor = UnconfirmedFactor(times);
  const auto weighed = [&](const Known& known) { return Weighed(known.times(), factor); };
  const auto fastest = std::min_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return weighed(a.second) < weighed(b.second);
  });
  const auto kept = all.find(winner);
  if (kept == all.end()) return fastest->first;
  const bool is_beaten = IsFasterBeyondDoubt(weighed(fastest->second), weighed(kept->second));
  return is_beaten ? fastest->first : winner;
}

}  // namespace

Result<std::optional<Record>> KeptBest(const TuningLog& log, const Digest& workload,
                                       const std::string& target, const AcceptConfig& accept) {
  RecordQuery query;
  query.workload = workload;
  query.target = target;
  query.outcome = Outcome::kOk;
  query.limit = kPage;
  std::map<Digest, Tuning> tunings;
  while (true) {
    const std::vector<Record> page = MLC_TRY(log.List(query));
    for (const Record& record : page) Add(record, tunings);
    if (std::ssize(page) < kPage) break;
    query.after_id = page.back().id;
  }
  Accepted accepted(accept);
  Configs all;
  std::string winner;
  for (const Configs* configs : Ordered(tunings)) {
    for (const auto& [config, known] : Leaders(*configs, accepted)) all[config].Add(known);
    if (!all.empty()) winner = NextWinner(all, winner);
  }
  if (all.empty()) return std::optional<Record>();
  return log.Find(all.at(winner).record());
}

}  // namespace mlc::db
