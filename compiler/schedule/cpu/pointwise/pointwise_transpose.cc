#include "compiler/schedule/cpu/pointwise/pointwise_transpose.h"

#include <algorithm>
#include <map>

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using ir::ExprRef;

namespace {

// The chain is emitted once for each row of a square; two squares fill the registers.
constexpr size_t kMaxViews = 2;
constexpr int kMaxNodes = 24;

// Wider elements take two registers a vector, and bools are masks.
bool FitsRegister(DType dtype) { return dtype != DType::kBool && SizeOf(dtype) <= 4; }

}  // namespace

std::vector<ValueId> TransposedViews(const Piece& piece, int column, int across, int lanes) {
  std::vector<ValueId> views;
  if (!piece.affine || across < 0 || lanes < 2 || piece.part.graph().size() > kMaxNodes) return {};
  for (ValueId id = 0; id < piece.part.graph().size(); ++id) {
    const Value& node = piece.part.graph()[id];
    if (node.op != Op::kView || node.type.dims.size() != piece.order.size()) continue;
    const std::vector<int64_t> strides = node.type.EffectiveStrides();
    const int64_t stride = strides[static_cast<size_t>(column)];
    if (stride == 0 || stride == 1 || strides[static_cast<size_t>(across)] != 1) continue;
    if (!FitsRegister(node.type.dtype)) return {};
    views.push_back(id);
  }
  if (views.size() > kMaxViews) return {};
  return views;
}

RegisterTransposer::RegisterTransposer(ir::KernelBuilder& builder, Fused& fused, const Piece& piece,
                                       const PieceLoops& loops)
    : builder_(builder),
      fused_(fused),
      piece_(piece),
      loops_(loops),
      column_(static_cast<size_t>(loops.column)),
      across_(static_cast<size_t>(loops.across)) {
  for (const ValueId view : loops.transposed) {
    const DType dtype = ComputeType(piece.part.graph()[view].type.dtype);
    squares_.push_back(builder.Registers("square", dtype, loops.lanes, loops.lanes));
  }
}

void RegisterTransposer::Fetch(ValueId view, const std::vector<ExprRef>& at) {
  const Value& node = piece_.part.graph()[view];
  const std::vector<ValueId>& operands = piece_.part.operands();
  const auto operand = std::find(operands.begin(), operands.end(), node.operands[0]);
  const int64_t offset = node.Has("offset") ? node.Int("offset") : 0;
  builder_.Prefetch(fused_.OperandBuffer(static_cast<int>(operand - operands.begin())),
                    fused_.Offset(node.type, at) + (offset + loops_.prefetch_distance), 2);
}

void RegisterTransposer::Load(size_t view, const std::vector<ExprRef>& at, int64_t columns,
                              int64_t rows) {
  const ir::BufferId square = squares_[view];
  const ValueId value = loops_.transposed[view];
  Point point{at, loops_.across, loops_.lanes, rows < loops_.lanes ? ir::Int(rows) : nullptr};
  for (int64_t i = 0; i < loops_.lanes; ++i) {
    // Registers after the last column are never read: any value will do.
    if (i >= columns) {
      builder_.Set(square, ir::Int(i), builder_.Get(square, ir::Int(0)));
      continue;
    }
    point.at[column_] = at[column_] + i;
    if (loops_.prefetch_distance > 0) Fetch(value, point.at);
    builder_.Set(square, ir::Int(i), fused_.Emit(value, point));
  }
  builder_.TransposeRegisters(square, ir::Int(0));
}

void RegisterTransposer::Emit(const std::vector<ExprRef>& at, int64_t columns, int64_t rows) {
  for (size_t view = 0; view < squares_.size(); ++view) Load(view, at, columns, rows);
  Point point{at, loops_.column, loops_.lanes, columns < loops_.lanes ? ir::Int(columns) : nullptr};
  for (int64_t i = 0; i < rows; ++i) {
    point.at[across_] = at[across_] + i;
    std::map<ValueId, ExprRef> bound;
    for (size_t view = 0; view < squares_.size(); ++view) {
      bound[loops_.transposed[view]] = builder_.Get(squares_[view], ir::Int(i));
    }
    fused_.StoreOutputs(point, bound, loops_.streaming);
  }
}

}  // namespace mlc::schedule
