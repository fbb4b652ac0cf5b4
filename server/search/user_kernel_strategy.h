// The search of a job that measures one user-supplied kernel. It measures the kernel once alone
// and, if the result is correct, once more in a group with the best known config of the workload
// (or the default), so that their times are comparable. Other searches learn nothing from it.
// Deterministic; not thread-safe.
#pragma once

#include <memory>

#include "server/search/strategy.h"

namespace mlc::server {

// The trial budget of such a job.
inline constexpr int kUserKernelTrials = 3;

// REQUIRES: the input has one task.
std::unique_ptr<Strategy> MakeUserKernelStrategy(const SearchInput& input, schedule::Config config);

}  // namespace mlc::server
