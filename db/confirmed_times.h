// How the times of one workload's configs compare, where some were confirmed: measured again side
// by side with other leaders. Confirmed times are longer. The fastest of many single times is
// in part measurement noise, and kernels that are interleaved find cold caches and a CPU
// under steady load, as in a network: on the two cores of a virtual machine a fifth at the median,
// on a GPU 1 to 3 %. So single times are made comparable by what confirmation cost the configs that
// have both. Pure; thread-safe.
#pragma once

#include <span>

namespace mlc::db {

// Of one config, in ns; 0: none.
struct ConfigTimes {
  double single_ns = 0;
  double confirmed_ns = 0;
};

// A single time counts as this much longer where nothing was confirmed, and at the least.
inline constexpr double kLeastUnconfirmedFactor = 1.03;

// What single times are multiplied by: the median quotient of both times of the configs that have
// both. Never below kLeastUnconfirmedFactor: where both are close, what was confirmed leads.
double UnconfirmedFactor(std::span<const ConfigTimes> configs);

// For comparison among the configs of a workload. REQUIRES: one of the times is there.
double Weighed(const ConfigTimes& times, double unconfirmed_factor);

}  // namespace mlc::db
