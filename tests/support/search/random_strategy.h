// The baseline that every other search must beat: the default config of every family that accepts a
// task, then distinct legal configs at random, tasks in turn.
#pragma once

#include <memory>

#include "server/search/strategy.h"

namespace mlc::server {

std::unique_ptr<Strategy> MakeRandomStrategy(SearchInput input);

}  // namespace mlc::server
