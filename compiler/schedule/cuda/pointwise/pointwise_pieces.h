// One piece of a pointwise workload on a GPU. A thread computes `unroll` vectors along the output's
// innermost dimension, a block's width apart. A transposed operand passes through shared memory in
// squares, so that both sides move whole vectors. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule::gpu {

struct PieceKnobs {
  int lanes = 16;  // of a vector, at most
  int unroll = 1;  // vectors of a thread
  int threads = 256;
  int tile = 0;  // edge of the squares that transposes take; 0: none
};

struct PiecePlan {
  int lanes = 1;
  int unroll = 1;
  int threads = 256;
  int column = -1;         // the vectors' dimension; -1 when the piece has none
  std::vector<int> outer;  // the others, outermost first, without `across`
  int64_t columns = 1;     // size of `column`
  int64_t points = 1;      // vectors in all; without a tile
  int tile = 0;            // 0: no shared memory
  int across = -1;         // with a tile: the dimension staged operands are contiguous along
  int load_lanes = 1;      // of vectors along `across`
  std::vector<graph::ValueId> staged;
  int64_t block_bytes = 0;
  int64_t blocks = 1;
};

// The widest vector that the piece allows, at least 1.
int WidestLanes(const Piece& piece);
// The dimension along which an operand is contiguous if the innermost one is not; or -1.
int AcrossOf(const Piece& piece);

PiecePlan PlanPiece(const Piece& piece, const PieceKnobs& knobs);

// Pieces that share a launch, a number of blocks each. Borrows its arguments.
class PieceBlocks {
 public:
  // Declares shared memory.
  PieceBlocks(ir::KernelBuilder& builder, const Fused& whole, const std::vector<Piece>& pieces,
              const PieceKnobs& knobs);

  int64_t blocks() const { return blocks_; }
  // `block`: counted from the first of the pieces'.
  void Emit(const ir::ExprRef& block, const ir::ExprRef& thread);

 private:
  void EmitFrom(size_t i, int64_t first, const ir::ExprRef& block, const ir::ExprRef& thread);

  ir::KernelBuilder& builder_;
  const Fused& whole_;
  const std::vector<Piece>& pieces_;
  std::vector<PiecePlan> plans_;
  std::vector<std::vector<ir::BufferId>> tiles_;
  int64_t blocks_ = 0;
};

// Emits one launch that computes all pieces.
void EmitPieces(ir::KernelBuilder& builder, const Fused& whole, const std::vector<Piece>& pieces,
                const PieceKnobs& knobs);

}  // namespace mlc::schedule::gpu
