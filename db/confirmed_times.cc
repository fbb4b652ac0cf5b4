#include "db/confirmed_times.h"

#include <algorithm>
#include <vector>

namespace mlc::db {

double UnconfirmedFactor(std::span<const ConfigTimes> configs) {
  std::vector<double> quotients;
  for (const ConfigTimes& times : configs) {
    if (times.single_ns > 0 && times.confirmed_ns > 0) {
      quotients.push_back(times.confirmed_ns / times.single_ns);
    }
  }
  if (quotients.empty()) return kLeastUnconfirmedFactor;
  const auto middle = quotients.begin() + static_cast<std::ptrdiff_t>(quotients.size() / 2);
  std::nth_element(quotients.begin(), middle, quotients.end());
  return std::max(*middle, kLeastUnconfirmedFactor);
}

double Weighed(const ConfigTimes& times, double unconfirmed_factor) {
  return times.confirmed_ns > 0 ? times.confirmed_ns : times.single_ns * unconfirmed_factor;
}

}  // namespace mlc::db
