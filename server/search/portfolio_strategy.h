// The default search of a job: the portfolio over the kernel spaces of its tasks. It knows earlier
// results of the same workloads from the start, tries the best configs of similar workloads early,
// and trains the prior model with the rows of earlier jobs. Deterministic; not thread-safe.
#pragma once

#include <memory>

#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "server/search/strategy.h"

namespace mlc::server {

std::unique_ptr<Strategy> MakePortfolioStrategy(SearchInput input);

// The same search over the configs of a user-supplied kernel with tunable parameters. It starts
// from the default config and from earlier results of the same specification; nothing is
// transferred, and it leaves no models to other jobs. REQUIRES: the input has one task.
std::unique_ptr<Strategy> MakeTunedKernelStrategy(const SearchInput& input,
                                                  schedule::TunedKernel kernel);

}  // namespace mlc::server
