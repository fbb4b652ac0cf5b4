// The default search of a job: the portfolio over the kernel spaces of its tasks. It knows earlier
// results of the same workloads from the start, tries the best configs of similar workloads early,
// and trains the prior model with the rows of earlier jobs. Deterministic; not thread-safe.
#pragma once

#include <memory>

#include "server/search/strategy.h"

namespace mlc::server {

std::unique_ptr<Strategy> MakePortfolioStrategy(SearchInput input);

}  // namespace mlc::server
