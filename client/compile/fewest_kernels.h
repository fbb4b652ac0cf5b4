// Chooses few kernels that serve several classes. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace mlc::client {

// The cost of a kernel that a class may not run.
inline constexpr double kNotAllowed = std::numeric_limits<double>::infinity();

// By class, the class whose kernel it runs. cost[i][j]: what class i takes with the kernel of class
// j. Takes the kernel that serves the most classes that have none yet, and of several the one of
// the least cost, until all classes have one; then each class takes the one of the least cost.
// REQUIRES: a square; cost[i][i] is allowed.
std::vector<size_t> FewestKernels(const std::vector<std::vector<double>>& cost);

}  // namespace mlc::client
