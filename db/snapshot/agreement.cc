#include "db/snapshot/agreement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace mlc::db {
namespace {

constexpr int64_t kMostWorkloads = 4096;
constexpr int64_t kEnoughWorkloads = 256;
constexpr int kFastest = 64;
constexpr int64_t kLeastCommon = 8;
constexpr double kOff = 0.10;
constexpr double kNear = 0.15;
constexpr double kLeastNear = 0.8;

// The fastest time of each config.
Result<std::map<std::string, double>> TimesOf(const TuningLog& log, const Digest& workload,
                                              const std::string& target) {
  std::map<std::string, double> times;
  for (const Record& record : MLC_TRY(log.Best(workload, target, kFastest))) {
    times.emplace(record.config, record.measurement.median_ns);
  }
  return times;
}

}  // namespace

bool Agreement::IsEnough() const {
  return common >= kLeastCommon && std::abs(ratio - 1) <= kOff && near >= kLeastNear;
}

Result<Agreement> AgreementOf(const TuningLog& own, const TuningLog& other,
                              const std::string& target) {
  const LogMoment end = MLC_TRY(other.Now());
  const int64_t first = std::max<int64_t>(0, end.last_workload_id - kMostWorkloads);
  std::vector<double> ratios;
  int64_t found = 0;
  for (const WorkloadRow& row : MLC_TRY(other.Workloads(first, kMostWorkloads))) {
    if (found == kEnoughWorkloads) break;
    const std::map<std::string, double> theirs = MLC_TRY(TimesOf(other, row.key, target));
    if (theirs.empty()) continue;
    const size_t before = ratios.size();
    for (const auto& [config, ns] : MLC_TRY(TimesOf(own, row.key, target))) {
      if (const auto same = theirs.find(config); same != theirs.end()) {
        ratios.push_back(same->second / ns);
      }
    }
    found += ratios.size() > before ? 1 : 0;
  }
  Agreement agreement;
  agreement.common = static_cast<int64_t>(ratios.size());
  if (ratios.empty()) return agreement;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  agreement.ratio = *middle;
  const auto near = std::count_if(ratios.begin(), ratios.end(), [&](double ratio) {
    return std::abs(ratio / agreement.ratio - 1) <= kNear;
  });
  agreement.near = static_cast<double>(near) / static_cast<double>(ratios.size());
  return agreement;
}

}  // namespace mlc::db
