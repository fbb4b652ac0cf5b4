// The loop nest of one piece of a pointwise workload. Chunks consist of rows (all dimensions but
// the innermost) and blocks of columns. A piece that reads a transposed operand walks blocks, so
// that both sides use whole cache lines, and transposes them in registers where possible
// (pointwise_transpose.h). Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/problem/pointwise_piece.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct PieceKnobs {
  int unroll = 1;          // vectors per iteration
  int tile = 0;            // rows of a block of a transpose; ignored elsewhere
  int64_t grain = 65536;   // elements of one chunk, about
  bool streaming = false;  // stores bypass the caches
};

struct PieceLoops {
  int lanes = 1;
  int unroll = 1;
  bool streaming = false;
  int column = -1;  // vectorised dimension; -1 when the piece has no dimension
  int across = -1;  // dimension along which a transposed operand is contiguous; or -1
  std::vector<graph::ValueId> transposed;  // operands that are transposed in registers
  std::vector<int> outer;                  // the other dimensions, outermost first
  int64_t rows = 1;                        // points of `outer`
  int64_t columns = 1;                     // size of `column`
  int64_t row_block = 1;                   // rows of one chunk
  int64_t column_block = 1;                // columns of one chunk
  int64_t across_size = 1;
  int64_t across_block = 1;  // of one chunk
  int64_t tile = 1;
  int64_t prefetch_distance = 0;  // in rows, to the square that is prefetched; 0: none
  int64_t chunks = 1;
};

PieceLoops PlanPiece(const Piece& piece, const target::Target& target, const PieceKnobs& knobs);

// Emits chunk `chunk` (0 .. loops.chunks - 1) of the piece.
void EmitChunk(ir::KernelBuilder& builder, Fused& fused, const Piece& piece,
               const PieceLoops& loops, const ir::ExprRef& chunk);

// True if an operand of an affine piece is contiguous along another dimension than the output.
bool IsTransposing(const Piece& piece);
// True if such an operand is transposed in registers.
bool TransposesInRegisters(const Piece& piece, const target::Target& target);

}  // namespace mlc::schedule
