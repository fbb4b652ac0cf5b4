// The default search of a job: the portfolio over the kernel spaces of its tasks. Earlier results
// of the same workloads are known from the start; the best configs of similar workloads are tried
// early; the rows of earlier jobs train the prior model.
#pragma once

#include <memory>

#include "server/search/strategy.h"

namespace mlc::server {

std::unique_ptr<Strategy> MakePortfolioStrategy(SearchInput input);

}  // namespace mlc::server
