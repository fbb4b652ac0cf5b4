// Blocks that go through several tiles of columns, one after the other. Appends to a builder; not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/ir/build.h"

namespace mlc::schedule {

// Calls `body` in a loop over `first`, `first` + `grid` and so on, up to `tiles`. `more`: whether
// another tile follows, so that its first loads may be under way while this one is stored. A
// barrier of the block ends each turn: the next may write over what this one has read.
// REQUIRES: first < grid <= tiles.
void ForTurns(ir::KernelBuilder& b, const ir::ExprRef& first, int64_t tiles, int64_t grid,
              const std::function<void(const ir::ExprRef& tile, const ir::ExprRef& more)>& body);

}  // namespace mlc::schedule
