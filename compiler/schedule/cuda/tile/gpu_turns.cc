#include "compiler/schedule/cuda/tile/gpu_turns.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

void ForTurns(ir::KernelBuilder& b, const ExprRef& first, int64_t tiles, int64_t grid,
              const std::function<void(const ExprRef& tile, const ExprRef& more)>& body) {
  const ExprRef turns = tiles % grid == 0
                            ? Int(tiles / grid)
                            : b.Let("turns", ir::FloorDiv(Int(tiles + grid - 1) - first, grid));
  b.For("turn", Int(0), turns, 1, [&](const ExprRef& turn) {
    const ExprRef tile = b.Let("this_tile", first + turn * grid);
    body(tile, ir::MakeApply(ScalarOp::kLess, {turn + 1, turns}));
    b.Barrier();
  });
}

}  // namespace mlc::schedule
