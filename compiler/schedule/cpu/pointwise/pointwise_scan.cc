#include "compiler/schedule/cpu/pointwise/pointwise_scan.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "compiler/schedule/cpu/pointwise/pointwise_loops.h"
#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/fusion/fused_rows.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;
using ir::ExprRef;

namespace {

bool IsScatter(Op op) { return op == Op::kScatterElements || op == Op::kScatterND; }
bool IsScan(Op op) { return op == Op::kCumSum || op == Op::kArg || IsScatter(op); }

ScalarOp ReductionOf(const std::string& word) {
  if (word == "add") return ScalarOp::kAdd;
  if (word == "mul") return ScalarOp::kMul;
  return word == "max" ? ScalarOp::kMax : ScalarOp::kMin;
}

ExprRef ZeroOf(DType dtype) {
  if (IsFloat(dtype)) return ir::Float(dtype, 0);
  return std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{0}});
}

// All dimensions of the operand but the scanned one, and one vectorised among them if possible.
struct ScanSpace {
  std::vector<int64_t> dims;
  size_t axis = 0;
  int column = -1;
  int lanes = 1;
  std::vector<int> outer;
};

ScanSpace SpaceOf(const Workload& workload, const target::Target& target, ValueId scan) {
  const Value& node = workload.graph()[scan];
  const ValueId x = node.operands[0];
  ScanSpace space;
  space.dims = workload.graph()[x].type.dims;
  space.axis = static_cast<size_t>(node.Int("axis"));
  const int last = static_cast<int>(space.dims.size()) - 1;
  const int lanes = target.cpu().Lanes(DType::kF32);
  const bool outputs_follow = node.op == Op::kCumSum || node.Int("keepdims") != 0;
  if (outputs_follow && static_cast<size_t>(last) != space.axis &&
      Fused::Vectorises(workload, x, last, lanes)) {
    const ValueId anchors[] = {scan};
    space.column = last;
    for (ValueId output : workload.outputs()) {
      if (!Fused::Vectorises(workload, output, last, lanes, anchors)) space.column = -1;
    }
  }
  if (space.column >= 0) space.lanes = lanes;
  for (int d = 0; d <= last; ++d) {
    if (static_cast<size_t>(d) != space.axis && d != space.column) space.outer.push_back(d);
  }
  return space;
}

// Runs `body` for every row and every vector of columns, the scanned coordinate left open.
void ForEachLine(ir::KernelBuilder& builder, const ScanSpace& space,
                 const std::function<void(Point)>& body) {
  const int64_t rows = RowCount(space.outer, space.dims);
  builder.Parallel("row", rows, [&](const ExprRef& row) {
    Point point;
    point.at.assign(space.dims.size(), ir::Int(0));
    SetRow(builder, row, space.outer, space.dims, point.at);
    if (space.column < 0) return body(point);
    const size_t column = static_cast<size_t>(space.column);
    const int64_t size = space.dims[column];
    point.dim = space.column;
    point.lanes = space.lanes;
    builder.For("c", ir::Int(0), ir::Int(size / space.lanes * space.lanes), space.lanes,
                [&](const ExprRef& c) {
                  point.at[column] = c;
                  body(point);
                });
    if (size % space.lanes == 0) return;
    point.at[column] = ir::Int(size / space.lanes * space.lanes);
    point.active = ir::Int(size % space.lanes);
    body(point);
  });
}

ExprRef Widened(const ExprRef& value, int lanes) {
  return value->type.lanes == lanes ? value : ir::MakeBroadcast(value, lanes);
}

void EmitCumSum(ir::KernelBuilder& builder, Fused& fused, const Workload& workload,
                const ScanSpace& space, ValueId scan) {
  const Value& node = workload.graph()[scan];
  const DType dtype = ComputeType(node.type.dtype);
  const int64_t size = space.dims[space.axis];
  const bool reverse = node.Int("reverse") != 0;
  const bool exclusive = node.Int("exclusive") != 0;
  const ir::BufferId sum = builder.Registers("sum", dtype, space.lanes, 1);
  ForEachLine(builder, space, [&](Point point) {
    builder.Set(sum, ir::Int(0), Widened(ZeroOf(dtype), space.lanes));
    builder.For("i", size, [&](const ExprRef& i) {
      point.at[space.axis] = reverse ? builder.Let("j", ir::Int(size - 1) - i) : i;
      const auto store = [&] { fused.StoreOutputs(point, {{scan, builder.Get(sum, ir::Int(0))}}); };
      if (exclusive) store();
      const ExprRef x = fused.Emit(node.operands[0], point);
      builder.Set(sum, ir::Int(0),
                  ir::MakeApply(ScalarOp::kAdd, {builder.Get(sum, ir::Int(0)), x}));
      if (!exclusive) store();
    });
  });
}

void EmitArg(ir::KernelBuilder& builder, Fused& fused, const Workload& workload,
             const ScanSpace& space, ValueId scan) {
  const Value& node = workload.graph()[scan];
  const DType dtype = ComputeType(workload.graph()[node.operands[0]].type.dtype);
  const bool max = node.Word("kind") == "max";
  const ScalarOp compare = node.Int("select_last") != 0 ? ScalarOp::kLessEqual : ScalarOp::kLess;
  const ir::BufferId best = builder.Registers("best", dtype, space.lanes, 1);
  const ir::BufferId where = builder.Registers("where", DType::kI64, space.lanes, 1);
  const ExprRef zero = ir::Int(0);
  ForEachLine(builder, space, [&](Point point) {
    point.at[space.axis] = zero;
    builder.Set(best, zero, fused.Emit(node.operands[0], point));
    builder.Set(where, zero, Widened(zero, space.lanes));
    builder.For("i", zero + 1, ir::Int(space.dims[space.axis]), 1, [&](const ExprRef& i) {
      point.at[space.axis] = i;
      const ExprRef x = fused.Emit(node.operands[0], point);
      const ExprRef old = builder.Get(best, zero);
      const ExprRef better =
          max ? ir::MakeApply(compare, {old, x}) : ir::MakeApply(compare, {x, old});
      builder.Set(where, zero,
                  ir::MakeApply(ScalarOp::kSelect,
                                {better, Widened(i, space.lanes), builder.Get(where, zero)}));
      builder.Set(best, zero, ir::MakeApply(max ? ScalarOp::kMax : ScalarOp::kMin, {old, x}));
    });
    Point stored = point;
    stored.at[space.axis] = zero;
    if (node.Int("keepdims") == 0) {
      stored.at.erase(stored.at.begin() + static_cast<std::ptrdiff_t>(space.axis));
    }
    fused.StoreOutputs(stored, {{scan, builder.Get(where, zero)}});
  });
}

// An index value made safe: negative ones count from the end, the rest is clamped.
ExprRef SafeIndex(ir::KernelBuilder& builder, ExprRef value, int64_t size) {
  if (value->type.dtype != DType::kI64) value = ir::MakeCast(DType::kI64, value);
  const ExprRef raw = builder.Let("i", value);
  const ExprRef wrapped = ir::MakeApply(
      ScalarOp::kSelect, {ir::MakeApply(ScalarOp::kLess, {raw, ir::Int(0)}), raw + size, raw});
  return builder.Let("i", ir::Min(ir::Max(wrapped, ir::Int(0)), ir::Int(size - 1)));
}

// The element of the output that an update at `at` goes to.
std::vector<ExprRef> TargetOf(ir::KernelBuilder& builder, Fused& fused, const Workload& workload,
                              const Value& node, const std::vector<ExprRef>& at) {
  if (node.op == Op::kScatterElements) {
    const size_t axis = static_cast<size_t>(node.Int("axis"));
    std::vector<ExprRef> to = at;
    const ExprRef index = fused.Emit(node.operands[1], Point{at, -1, 1, nullptr});
    to[axis] = SafeIndex(builder, index, node.type.dims[axis]);
    return to;
  }
  const std::vector<int64_t>& index_dims = workload.graph()[node.operands[1]].type.dims;
  const auto outer = static_cast<std::ptrdiff_t>(index_dims.size()) - 1;
  std::vector<ExprRef> to;
  for (int64_t j = 0; j < index_dims.back(); ++j) {
    Point point;
    point.at.assign(at.begin(), at.begin() + outer);
    point.at.push_back(ir::Int(j));
    const ExprRef index = fused.Emit(node.operands[1], point);
    to.push_back(SafeIndex(builder, index, node.type.dims[static_cast<size_t>(j)]));
  }
  to.insert(to.end(), at.begin() + outer, at.end());
  return to;
}

// The data is copied by all threads; the updates, which may collide, are applied by one.
void EmitScatter(ir::KernelBuilder& builder, Fused& fused, const Workload& workload,
                 const target::Target& target, ValueId scan) {
  const Value& node = workload.graph()[scan];
  const Piece copy = PieceOf(workload, node.operands[0], 0);
  const PieceLoops loops = PlanPiece(copy, target, {});
  builder.Parallel("p", loops.chunks, [&](const ExprRef& chunk) {
    Fused part(copy.part, builder, fused, copy.operands, copy.outputs, copy.offsets);
    EmitChunk(builder, part, copy, loops, chunk);
  });
  const std::vector<int64_t>& dims = workload.graph()[node.operands[2]].type.dims;
  const std::string& reduction = node.Word("reduction");
  builder.Parallel("one", 1, [&](const ExprRef&) {
    std::vector<ExprRef> at(dims.size(), ir::Int(0));
    const std::function<void(size_t)> loop = [&](size_t d) {
      if (d < dims.size()) {
        return builder.For("u", dims[d], [&](const ExprRef& u) {
          at[d] = u;
          loop(d + 1);
        });
      }
      const Point to{TargetOf(builder, fused, workload, node, at), -1, 1, nullptr};
      ExprRef value = fused.Emit(node.operands[2], Point{at, -1, 1, nullptr});
      if (reduction != "none") {
        const ExprRef old =
            builder.Load(fused.OutputBuffer(0), fused.Offset(node.type, to.at), 1, 1, nullptr);
        const DType compute = ComputeType(node.type.dtype);
        const ExprRef wide = compute == node.type.dtype ? old : ir::MakeCast(compute, old);
        value = ir::MakeApply(ReductionOf(reduction), {wide, value});
      }
      fused.Store(0, to, value);
    };
    loop(0);
  });
}

}  // namespace

ValueId FindScan(const Workload& workload) {
  const graph::Graph& graph = workload.graph();
  ValueId scan = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!IsScan(graph[id].op)) continue;
    if (scan != graph::kNoValue) return graph::kNoValue;
    scan = id;
  }
  if (scan == graph::kNoValue) return scan;
  for (ValueId operand : graph[scan].operands) {
    if (!Fused::Covers(workload, operand, {})) return graph::kNoValue;
  }
  if (IsScatter(graph[scan].op)) {
    const bool alone = workload.outputs().size() == 1 && workload.outputs()[0] == scan;
    return alone && graph[scan].type.rank() > 0 ? scan : graph::kNoValue;
  }
  const ValueId anchors[] = {scan};
  for (ValueId output : workload.outputs()) {
    if (graph[output].type.dims != graph[scan].type.dims) return graph::kNoValue;
    if (!Fused::Covers(workload, output, anchors)) return graph::kNoValue;
  }
  return scan;
}

LoweredKernel LowerScan(const Workload& workload, const target::Target& target, ValueId scan) {
  ir::KernelBuilder builder("scan");
  Fused fused(workload, builder);
  const Op op = workload.graph()[scan].op;
  if (IsScatter(op)) {
    EmitScatter(builder, fused, workload, target, scan);
  } else {
    const ScanSpace space = SpaceOf(workload, target, scan);
    if (op == Op::kCumSum) EmitCumSum(builder, fused, workload, space, scan);
    if (op == Op::kArg) EmitArg(builder, fused, workload, space, scan);
  }
  return {builder.Finish(), fused.bindings(), {}};
}

}  // namespace mlc::schedule
