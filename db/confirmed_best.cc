#include "db/confirmed_best.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "db/confirmed_times.h"

namespace mlc::db {
namespace {

// Leaders lie within a few per cent of each other.
constexpr int kFastest = 64;

// Equal times and moments are in an order that does not depend on that of the log.
bool IsFaster(const Record& a, const Record& b) {
  return std::tie(a.measurement.median_ns, a.task_uid) <
         std::tie(b.measurement.median_ns, b.task_uid);
}
bool IsNewer(const Record& a, const Record& b) {
  return std::tie(a.created_us, a.task_uid) > std::tie(b.created_us, b.task_uid);
}

// What is known of one config: its fastest single record and its newest confirmation.
struct Known {
  std::optional<Record> single, confirmation;

  void Add(Record record) {
    if (IsConfirmation(record)) {
      if (!confirmation || IsNewer(record, *confirmation)) confirmation = std::move(record);
    } else if (!single || IsFaster(record, *single)) {
      single = std::move(record);
    }
  }
  ConfigTimes times() const {
    return {single ? single->measurement.median_ns : 0,
            confirmation ? confirmation->measurement.median_ns : 0};
  }
  Record& record() { return confirmation ? *confirmation : *single; }
};

// One record for each config, best first.
std::vector<Record> Rank(std::vector<Record> fastest, std::vector<Record> confirmations) {
  std::map<std::string, Known> by_config;
  for (std::vector<Record>* records : {&fastest, &confirmations}) {
    for (Record& record : *records) {
      Known& known = by_config[record.config];
      known.Add(std::move(record));
    }
  }
  std::vector<ConfigTimes> times;
  for (const auto& [config, known] : by_config) times.push_back(known.times());
  const double factor = UnconfirmedFactor(times);
  std::vector<std::pair<double, Record>> order;
  for (auto& [config, known] : by_config) {
    order.emplace_back(Weighed(known.times(), factor), std::move(known.record()));
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.task_uid) < std::tie(b.first, b.second.task_uid);
  });
  std::vector<Record> best;
  for (auto& [weighed, record] : order) best.push_back(std::move(record));
  return best;
}

// REQUIRES: `best` has as many as were wanted, of `fastest`, of which `slowest_ns` was the last
// one. Without confirmations a longer time than the last one's comes after it. With some, it may
// drive a time that they are compared with out of the fastest, unless it is none of those itself.
double HoldsAbove(const std::vector<Record>& best, bool confirmed, bool are_all,
                  double slowest_ns) {
  if (!confirmed) return best.back().measurement.median_ns;
  return are_all ? std::numeric_limits<double>::infinity() : slowest_ns;
}

}  // namespace

Result<std::vector<Record>> BestConfigs(const TuningLog& log, const Digest& workload,
                                        const std::string& target, int limit,
                                        const TuningLog::Accept& accept, int64_t up_to_id) {
  return MLC_TRY(FindBestConfigs(log, workload, target, limit, accept, up_to_id)).records;
}

Result<BestFound> FindBestConfigs(const TuningLog& log, const Digest& workload,
                                  const std::string& target, int limit,
                                  const TuningLog::Accept& accept, int64_t up_to_id) {
  const auto wanted = static_cast<size_t>(std::max(limit, 0));
  const int most = std::max(kFastest, 2 * limit);
  const auto counts = [up_to_id](const Record& record) { return record.id <= up_to_id; };
  std::vector<Record> confirmations = MLC_TRY(log.Confirmations(workload, target));
  std::erase_if(confirmations, std::not_fn(counts));
  std::vector<Record> records = MLC_TRY(log.Best(workload, target, most, counts));
  const bool are_all = static_cast<int>(records.size()) < most;
  const double slowest_ns = records.empty() ? 0 : records.back().measurement.median_ns;
  BestFound found;
  std::vector<Record>& best = found.records;
  for (Record& record : Rank(std::move(records), confirmations)) {
    if (best.size() < wanted && (!accept || accept(record))) best.push_back(std::move(record));
  }
  if (best.size() == wanted && wanted > 0) {
    found.holds_above_ns = HoldsAbove(best, !confirmations.empty(), are_all, slowest_ns);
  }
  // Asking about every record takes long: only where too few at the top are accepted.
  if (best.size() == wanted || are_all || !accept) return found;
  std::vector<Record> accepted;
  std::copy_if(confirmations.begin(), confirmations.end(), std::back_inserter(accepted), accept);
  const auto both = [&](const Record& record) { return counts(record) && accept(record); };
  best = Rank(MLC_TRY(log.Best(workload, target, most, both)), std::move(accepted));
  if (best.size() > wanted) best.resize(wanted);
  return found;
}

}  // namespace mlc::db
