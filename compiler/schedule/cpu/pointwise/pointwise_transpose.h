// Transposes operands of a pointwise piece in registers. An operand that is contiguous across the
// output's innermost dimension is loaded as vectors along that dimension and transposed in squares
// of lanes x lanes, so that all loads and stores are of consecutive elements. Thread-safe.
#pragma once

#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/pointwise/pointwise_loops.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

// The views of the piece that are contiguous along `across` and not along `column`. Empty if
// transposing does not pay, because the chain is too long to repeat for every row of a square.
std::vector<graph::ValueId> TransposedViews(const Piece& piece, int column, int across, int lanes);

class RegisterTransposer {
 public:
  // Declares the registers. REQUIRES: loops.transposed is not empty. Borrows all of it.
  RegisterTransposer(ir::KernelBuilder& builder, Fused& fused, const Piece& piece,
                     const PieceLoops& loops);

  // Emits columns x rows points from `at` on, the rows along `across`; at most `lanes` of each.
  void Emit(const std::vector<ir::ExprRef>& at, int64_t columns, int64_t rows);

 private:
  void Load(size_t view, const std::vector<ir::ExprRef>& at, int64_t columns, int64_t rows);
  void Fetch(graph::ValueId view, const std::vector<ir::ExprRef>& at);

  ir::KernelBuilder& builder_;
  Fused& fused_;
  const Piece& piece_;
  const PieceLoops& loops_;
  const size_t column_;
  const size_t across_;
  std::vector<ir::BufferId> squares_;  // one for each transposed view
};

}  // namespace mlc::schedule
