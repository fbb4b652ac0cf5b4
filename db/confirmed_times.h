// Makes the times of one workload's configs comparable if some were confirmed, that is measured
// again side by side with other leaders. Confirmed times are longer: the fastest of many single
// times is partly noise, and interleaved kernels find cold caches and a CPU under steady load, as
// in a network. On the two cores of a virtual machine they are longer by a fifth in the median, on
// a GPU by 1 to 3 %. So single times are multiplied by what confirmation added to the configs that
// have both times. Pure; thread-safe.
#pragma once

#include <span>

namespace mlc::db {

// The times of one config in ns; 0: none.
struct ConfigTimes {
  double single_ns = 0;
  double confirmed_ns = 0;
};

// Factor of single times if nothing was confirmed, and its lower bound.
inline constexpr double kLeastUnconfirmedFactor = 1.03;

// Returns the factor for single times: the median quotient of both times over the configs that have
// both. At least kLeastUnconfirmedFactor, so that a confirmed config leads if both are close.
double UnconfirmedFactor(std::span<const ConfigTimes> configs);

// The time by which a config is compared with others of its workload. REQUIRES: it has at least one
// of both times.
double Weighed(const ConfigTimes& times, double unconfirmed_factor);

}  // namespace mlc::db
