// The search of a job that has one user-supplied kernel measured: once alone and,
// if it is right, once more side by side with the best that is known of the workload (or the
// default), so that a build compares like with like. Nothing is learned from it for other searches.
#pragma once

#include <memory>

#include "server/search/strategy.h"

namespace mlc::server {

// Of such a job's budget.
inline constexpr int kUserKernelTrials = 3;

// REQUIRES: the input has one task.
std::unique_ptr<Strategy> MakeUserKernelStrategy(const SearchInput& input, schedule::Config config);

}  // namespace mlc::server
