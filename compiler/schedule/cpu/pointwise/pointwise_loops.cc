#include "compiler/schedule/cpu/pointwise/pointwise_loops.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "compiler/schedule/cpu/pointwise/pointwise_transpose.h"
#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule {

using graph::Op;
using graph::TensorType;
using graph::Value;
using ir::ExprRef;

namespace {

const TensorType& OutputType(const Piece& piece) {
  return piece.part.graph()[piece.part.outputs()[0]].type;
}

// The dimension along which an operand is contiguous, if the output's innermost one is not; or -1.
int AcrossOf(const Piece& piece) {
  if (!piece.affine || piece.order.size() < 2) return -1;
  const size_t inner = static_cast<size_t>(piece.order.back());
  for (graph::ValueId id = 0; id < piece.part.graph().size(); ++id) {
    const Value& node = piece.part.graph()[id];
    if (node.op != Op::kView || node.type.dims.size() != piece.order.size()) continue;
    const std::vector<int64_t> strides = node.type.EffectiveStrides();
    if (strides[inner] == 1 || strides[inner] == 0 || node.type.dims[inner] == 1) continue;
    for (size_t d = 0; d < strides.size(); ++d) {
      if (strides[d] == 1 && node.type.dims[d] > 1) return static_cast<int>(d);
    }
  }
  return -1;
}

bool VectorisesAlong(const Piece& piece, int dim, int lanes) {
  return std::all_of(
      piece.part.outputs().begin(), piece.part.outputs().end(),
      [&](graph::ValueId output) { return Fused::Vectorises(piece.part, output, dim, lanes); });
}

bool AllStream(const Piece& piece, int column, int lanes, const target::Target& target) {
  for (size_t i = 0; i < piece.outputs.size(); ++i) {
    const TensorType& type = piece.part.graph()[piece.part.outputs()[i]].type;
    if (!CanStream(type, column, lanes, target, piece.offsets[i])) return false;
  }
  return true;
}

class ChunkEmitter {
 public:
  ChunkEmitter(ir::KernelBuilder& builder, Fused& fused, const Piece& piece,
               const PieceLoops& loops)
      : builder_(builder), fused_(fused), piece_(piece), loops_(loops), type_(OutputType(piece)) {
    at_.assign(type_.dims.size(), ir::Int(0));
  }

  void Run(const ExprRef& chunk) {
    if (loops_.column < 0) return Store(1, nullptr);
    const int64_t column_chunks = CeilDiv(loops_.columns, loops_.column_block);
    const int64_t across_chunks = CeilDiv(loops_.across_size, loops_.across_block);
    const int64_t inner = column_chunks * across_chunks;
    const ExprRef row_chunk = builder_.Let("rc", ir::FloorDiv(chunk, inner));
    const ExprRef rest = builder_.Let("cc", ir::Mod(chunk, inner));
    const ExprRef across = builder_.Let("ac", ir::FloorDiv(rest, column_chunks));
    const ExprRef column = builder_.Let("co", ir::Mod(rest, column_chunks));
    const ExprRef first = builder_.Let("r0", row_chunk * loops_.row_block);
    const ExprRef last = loops_.rows % loops_.row_block == 0
                             ? first + loops_.row_block
                             : ir::Min(first + loops_.row_block, ir::Int(loops_.rows));
    builder_.For("row", first, last, 1, [&](const ExprRef& row) {
      SetRow(builder_, row, loops_.outer, type_.dims, at_);
      if (!loops_.transposed.empty()) {
        Squares(column, across);
      } else if (loops_.across >= 0) {
        Blocks(column, across);
      } else {
        Columns(column, [&](int64_t lanes, const ExprRef& active) { Store(lanes, active); });
      }
    });
  }

 private:
  using Body = std::function<void(int64_t lanes, const ExprRef& active)>;

  // The columns of a column chunk, with at_[column] set.
  void Columns(const ExprRef& chunk, const Body& body) {
    const int64_t lanes = loops_.lanes;
    const int64_t step = lanes * loops_.unroll;
    const int64_t whole = loops_.columns / step * step;
    const bool split = loops_.column_block < loops_.columns;
    ExprRef& at = at_[static_cast<size_t>(loops_.column)];
    // Counted in whole steps, so that the alignment of every vector shows in its index.
    const ExprRef first = split ? chunk * (loops_.column_block / step) : ir::Int(0);
    const ExprRef end = !split ? ir::Int(whole / step)
                        : loops_.columns % loops_.column_block == 0
                            ? first + loops_.column_block / step
                            : ir::Min(first + loops_.column_block / step, ir::Int(whole / step));
    builder_.For("v", first, end, 1, [&](const ExprRef& v) {
      builder_.Unrolled("j", loops_.unroll, [&](const ExprRef& j) {
        at = v * step + j * lanes;
        body(lanes, nullptr);
      });
    });
    if (whole == loops_.columns) return;
    const auto tail = [&] {
      int64_t c = whole;
      for (; c + lanes <= loops_.columns; c += lanes) {
        at = ir::Int(c);
        body(lanes, nullptr);
      }
      if (c == loops_.columns) return;
      at = ir::Int(c);
      body(lanes, ir::Int(loops_.columns - c));
    };
    if (!split) return tail();
    builder_.If(ir::MakeApply(ScalarOp::kLess,
                              {ir::Int(loops_.columns), (chunk + 1) * loops_.column_block + 1}),
                tail);
  }

  // Square blocks: for each vector of columns, `tile` neighbours along `across`.
  void Blocks(const ExprRef& column, const ExprRef& across_chunk) {
    const ExprRef first = builder_.Let("u0", across_chunk * loops_.across_block);
    const ExprRef last =
        builder_.Let("u1", ir::Min(first + loops_.across_block, ir::Int(loops_.across_size)));
    builder_.For("ub", first, last, loops_.tile, [&](const ExprRef& block) {
      const bool even = loops_.across_size % loops_.tile == 0;
      const ExprRef block_end = even ? block + loops_.tile : ir::Min(block + loops_.tile, last);
      Columns(column, [&](int64_t lanes, const ExprRef& active) {
        builder_.For("u", block, block_end, 1, [&](const ExprRef& u) {
          at_[static_cast<size_t>(loops_.across)] = u;
          Store(lanes, active);
        });
      });
    });
  }

  // The same where operands are transposed: `tile` rows of every vector of columns, a square at a
  // time.
  void Squares(const ExprRef& column, const ExprRef& across_chunk) {
    const int64_t lanes = loops_.lanes;
    const int64_t whole = loops_.across_size / lanes * lanes;
    RegisterTransposer square(builder_, fused_, piece_, loops_);
    ExprRef& at = at_[static_cast<size_t>(loops_.across)];
    const auto emit = [&](const ExprRef& active, int64_t rows) {
      int64_t columns = lanes;
      if (active) ir::IsConstInt(active, &columns);
      square.Emit(at_, columns, rows);
    };
    const ExprRef first = builder_.Let("u0", across_chunk * loops_.across_block);
    const ExprRef last = builder_.Let("u1", ir::Min(first + loops_.across_block, ir::Int(whole)));
    builder_.For("ub", first, last, loops_.tile, [&](const ExprRef& block) {
      const bool even = whole % loops_.tile == 0;
      const ExprRef end = even ? block + loops_.tile : ir::Min(block + loops_.tile, last);
      Columns(column, [&](int64_t, const ExprRef& active) {
        builder_.For("u", block, end, lanes, [&](const ExprRef& u) {
          at = u;
          emit(active, lanes);
        });
      });
    });
    if (whole == loops_.across_size) return;
    const auto tail = [&] {
      at = ir::Int(whole);
      Columns(column,
              [&](int64_t, const ExprRef& active) { emit(active, loops_.across_size - whole); });
    };
    if (loops_.across_block == loops_.across_size) return tail();
    builder_.If(ir::MakeApply(ScalarOp::kLess, {ir::Int(whole), first + loops_.across_block}),
                tail);
  }

  void Store(int64_t lanes, const ExprRef& active) {
    Point point{at_, loops_.column, static_cast<int>(lanes), active};
    if (lanes == 1) point.dim = -1;
    fused_.StoreOutputs(point, {}, loops_.streaming);
  }

  ir::KernelBuilder& builder_;
  Fused& fused_;
  const Piece& piece_;
  const PieceLoops& loops_;
  const TensorType& type_;
  std::vector<ExprRef> at_;
};

}  // namespace

bool IsTransposing(const Piece& piece) { return AcrossOf(piece) >= 0; }

bool TransposesInRegisters(const Piece& piece, const target::Target& target) {
  PieceKnobs blocks;
  blocks.tile = target.cpu().Lanes(DType::kF32);
  return !PlanPiece(piece, target, blocks).transposed.empty();
}

PieceLoops PlanPiece(const Piece& piece, const target::Target& target, const PieceKnobs& knobs) {
  PieceLoops loops;
  const TensorType& type = OutputType(piece);
  if (piece.order.empty()) return loops;
  loops.column = piece.order.back();
  loops.columns = type.dims[static_cast<size_t>(loops.column)];
  loops.across = knobs.tile > 0 ? AcrossOf(piece) : -1;
  for (size_t i = 0; i + 1 < piece.order.size(); ++i) {
    const int d = piece.order[i];
    if (d == loops.across) continue;
    loops.outer.push_back(d);
    loops.rows *= type.dims[static_cast<size_t>(d)];
  }
  const int lanes = target.cpu().Lanes(DType::kF32);
  if (loops.columns > 1 && VectorisesAlong(piece, loops.column, lanes)) loops.lanes = lanes;
  const int64_t vectors = std::max<int64_t>(1, loops.columns / loops.lanes);
  loops.unroll = static_cast<int>(std::min<int64_t>(knobs.unroll, vectors));
  loops.streaming =
      knobs.streaming && loops.lanes > 1 && AllStream(piece, loops.column, lanes, target);
  const int64_t step = static_cast<int64_t>(loops.lanes) * loops.unroll;
  const int64_t grain = CeilDiv(std::max(knobs.grain, step), step) * step;
  loops.column_block = std::min(loops.columns, grain);
  if (loops.across >= 0) {
    loops.unroll = 1;
    loops.column_block = loops.columns;
    loops.across_size = type.dims[static_cast<size_t>(loops.across)];
    loops.transposed = TransposedViews(piece, loops.column, loops.across, loops.lanes);
    const int64_t square = loops.transposed.empty() ? 1 : loops.lanes;
    loops.tile = CeilDiv(std::min<int64_t>(knobs.tile, loops.across_size), square) * square;
    loops.prefetch_distance = knobs.streaming ? loops.tile : 0;
    const int64_t blocks = grain / (loops.columns * loops.tile);
    if (blocks == 0) {
      const int64_t vectors_of_chunk = std::max<int64_t>(1, grain / loops.tile / loops.lanes);
      loops.column_block = std::min(loops.columns, vectors_of_chunk * loops.lanes);
    }
    loops.across_block = std::min(loops.across_size, std::max<int64_t>(1, blocks) * loops.tile);
  }
  const int64_t row_points = loops.column_block * loops.across_block;
  const bool whole_rows =
      loops.column_block == loops.columns && loops.across_block == loops.across_size;
  if (whole_rows) {
    loops.row_block = std::clamp<int64_t>(grain / std::max<int64_t>(1, row_points), 1,
                                          std::max<int64_t>(1, loops.rows));
  }
  loops.chunks = CeilDiv(loops.rows, loops.row_block) * CeilDiv(loops.columns, loops.column_block) *
                 CeilDiv(loops.across_size, loops.across_block);
  return loops;
}

void EmitChunk(ir::KernelBuilder& builder, Fused& fused, const Piece& piece,
               const PieceLoops& loops, const ExprRef& chunk) {
  ChunkEmitter(builder, fused, piece, loops).Run(chunk);
}

}  // namespace mlc::schedule
