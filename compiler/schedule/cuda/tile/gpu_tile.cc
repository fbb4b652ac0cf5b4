#include "compiler/schedule/cuda/tile/gpu_tile.h"

#include <algorithm>
#include <string>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

bool GpuContraction::Checked(int axis) const {
  const RowAxis& a = Axis(axis);
  if (a.dim < 0) return false;
  return a.pad > 0 || (a.out - 1) * a.stride - a.pad + (a.taps - 1) * a.dilation >= a.in;
}

namespace {

GpuContraction Flat(const graph::Workload& workload, const ContractionProblem& p) {
  GpuContraction g;
  g.p = p;
  for (int i = 0; i < p.batch_count; ++i) {
    const BatchAxis& axis = p.batch[static_cast<size_t>(i)];
    if (axis.column_stride == 0 && !axis.group) {
      g.parts[static_cast<size_t>(g.part_count++)] = {axis.dim, axis.extent, axis.row_stride, -1};
      g.m *= axis.extent;
    } else {
      g.batch[static_cast<size_t>(g.batch_count++)] = axis;
      g.z *= axis.extent;
    }
  }
  for (int i = 0; i < 3; ++i) {
    const RowAxis& axis = g.Axis(i);
    if (axis.dim < 0) continue;
    g.parts[static_cast<size_t>(g.part_count++)] = {axis.dim, axis.out,
                                                    axis.stride * axis.row_stride, i};
    g.m *= axis.out;
  }
  g.n = p.columns;
  g.k = p.K();
  const graph::Value& node = workload.graph()[p.anchor];
  g.tf32 = node.Has("precision") && node.Word("precision") == "tf32";
  return g;
}

}  // namespace

std::optional<GpuContraction> FindGpuContraction(const graph::Workload& workload) {
  const std::optional<ContractionProblem> p = FindContraction(workload);
  if (!p) return std::nullopt;
  return Flat(workload, *p);
}

std::optional<GpuContraction> FindGpuContractionOrBytes(const graph::Workload& workload) {
  const std::optional<ContractionProblem> p = FindContractionOrBytes(workload);
  if (!p) return std::nullopt;
  GpuContraction g = Flat(workload, *p);
  if (p->of_bytes) g.results = NarrowResultsOf(workload, g);
  return g;
}

std::optional<GpuContraction> FindGpuContractionOrFloat8(const graph::Workload& workload) {
  const std::optional<ContractionProblem> p = FindContractionOrFloat8(workload);
  if (!p) return std::nullopt;
  return Flat(workload, *p);
}

std::optional<GpuContraction> FindGpuContractionOfFewBits(const graph::Workload& workload) {
  const std::optional<ContractionProblem> p = FindContractionOfAnyForm(workload);
  if (!p || !p->IsPacked()) return std::nullopt;
  return Flat(workload, *p);
}

std::optional<GpuContraction> FindGpuContractionOfAnyForm(const graph::Workload& workload) {
  const std::optional<ContractionProblem> p = FindContractionOfAnyForm(workload);
  if (!p || p->IsPacked() || p->of_bytes) return std::nullopt;
  return Flat(workload, *p);
}

std::vector<int> PackedOperands(const graph::Workload& workload, const GpuContraction& g) {
  if (!g.p.column_is_weight) return {};
  std::vector<int> operands = {g.p.column_operand};
  if (g.p.IsPacked()) operands.push_back(g.p.packed.scales);
  if (g.p.packed.zeros >= 0) operands.push_back(g.p.packed.zeros);
  const auto users = workload.graph().Users();
  std::erase_if(operands, [&](int operand) {
    const graph::ValueId id = workload.operands()[static_cast<size_t>(operand)];
    return users[static_cast<size_t>(id)].size() != 1 ||
           std::count(workload.outputs().begin(), workload.outputs().end(), id) != 0;
  });
  return operands;
}

namespace {

// The largest power of two up to `limit` that divides every stride.
int CommonAlignment(std::initializer_list<int64_t> strides, int limit) {
  int align = limit;
  for (int64_t stride : strides) {
    while (stride % align != 0) align /= 2;
  }
  return align;
}

int BatchAlignment(const GpuContraction& g, Side side, int align) {
  for (int i = 0; i < g.batch_count; ++i) {
    const BatchAxis& axis = g.batch[static_cast<size_t>(i)];
    align = CommonAlignment({side == Side::kRow ? axis.row_stride : axis.column_stride}, align);
  }
  return align;
}

bool SingleTap(const GpuContraction& g) { return g.p.Taps() == 1 && !g.AnyChecked(); }

}  // namespace

int ContiguousAlongK(const GpuContraction& g, Side side, int limit) {
  const bool row = side == Side::kRow;
  if ((row ? g.p.row_k_stride : g.p.column_k_stride) != 1) return 1;
  int align = BatchAlignment(g, side, limit);
  if (g.p.Taps() > 1) align = CommonAlignment({g.p.depth}, align);
  if (row) {
    for (int i = 0; i < g.part_count; ++i) {
      align = CommonAlignment({g.parts[static_cast<size_t>(i)].stride}, align);
    }
  } else {
    align = CommonAlignment({g.p.column_stride}, align);
  }
  for (int i = 0; i < 3; ++i) {
    const RowAxis& axis = g.Axis(i);
    if (axis.dim < 0) continue;
    const int64_t origin = axis.pad * axis.row_stride;
    const int64_t tap = axis.dilation * axis.row_stride;
    align = row ? CommonAlignment({origin, axis.taps > 1 ? tap : 0}, align)
                : CommonAlignment({axis.tap_stride}, align);
  }
  return align;
}

int ContiguousAcross(const GpuContraction& g, Side side, int limit) {
  if (!SingleTap(g)) return 1;
  if (side == Side::kColumn) {
    if (g.p.column_stride != 1) return 1;
    return BatchAlignment(g, side, CommonAlignment({g.p.column_k_stride}, limit));
  }
  if (g.part_count != 1 || g.parts[0].stride != 1) return 1;
  return BatchAlignment(g, side, CommonAlignment({g.p.row_k_stride}, limit));
}

CrossPlace PlaceCross(ir::KernelBuilder& b, const GpuContraction& g, Side side,
                      const ExprRef& index) {
  CrossPlace place;
  if (side == Side::kColumn) {
    place.offset = index * g.p.column_stride;
    return place;
  }
  ExprRef rest = index;
  place.offset = Int(0);
  for (int i = g.part_count - 1; i >= 0; --i) {
    const RowPart& part = g.parts[static_cast<size_t>(i)];
    const ExprRef at = b.Let("r", i == 0 ? rest : ir::Mod(rest, part.extent));
    rest = ir::FloorDiv(rest, part.extent);
    place.offset = place.offset + at * part.stride;
    if (part.axis < 0) continue;
    const RowAxis& axis = g.Axis(part.axis);
    place.offset = place.offset - axis.pad * axis.row_stride;
    if (g.Checked(part.axis)) {
      place.origin[static_cast<size_t>(part.axis)] = b.Let("o", at * axis.stride - axis.pad);
    }
  }
  place.offset = b.Let("row", place.offset);
  return place;
}

DepthPlace PlaceDepth(ir::KernelBuilder& b, const GpuContraction& g, const ExprRef& k) {
  DepthPlace place;
  place.tap.fill(Int(0));
  if (g.p.Taps() == 1) {
    place.channel = k;
    return place;
  }
  place.channel = b.Let("c", ir::Mod(k, g.p.depth));
  ExprRef rest = ir::FloorDiv(k, g.p.depth);
  for (int i = 2; i >= 0; --i) {
    const int64_t taps = g.Axis(i).taps;
    if (taps == 1) continue;
    const bool last = i == 0 || (g.Axis(0).taps == 1 && (i == 1 || g.Axis(1).taps == 1));
    place.tap[static_cast<size_t>(i)] = b.Let("tap", last ? rest : ir::Mod(rest, taps));
    rest = ir::FloorDiv(rest, taps);
  }
  return place;
}

ExprRef DepthOffset(const GpuContraction& g, Side side, const DepthPlace& place) {
  const bool row = side == Side::kRow;
  ExprRef offset = place.channel * (row ? g.p.row_k_stride : g.p.column_k_stride);
  for (int i = 0; i < 3; ++i) {
    const RowAxis& axis = g.Axis(i);
    const int64_t stride = row ? axis.dilation * axis.row_stride : axis.tap_stride;
    offset = offset + place.tap[static_cast<size_t>(i)] * stride;
  }
  return offset;
}

namespace {

ExprRef I32(int64_t value) {
  return std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
}

}  // namespace

ExprRef And(const ExprRef& a, const ExprRef& b) {
  if (!a) return b;
  if (!b) return a;
  return ir::MakeApply(ScalarOp::kAnd, {a, b});
}

ExprRef Less(const ExprRef& a, int64_t b) { return ir::MakeApply(ScalarOp::kLess, {a, Int(b)}); }

ExprRef LanesIf(const ExprRef& condition, int lanes) {
  if (!condition) return Int(lanes);
  return ir::MakeApply(ScalarOp::kSelect, {condition, Int(lanes), Int(0)});
}

ExprRef TapInside(const GpuContraction& g, Side side, const CrossPlace& cross,
                  const DepthPlace& depth) {
  ExprRef inside;
  if (side == Side::kColumn) return inside;
  for (size_t i = 0; i < 3; ++i) {
    if (!cross.origin[i]) continue;
    const RowAxis& axis = g.Axis(static_cast<int>(i));
    const ExprRef at = cross.origin[i] + depth.tap[i] * axis.dilation;
    inside = And(inside, ir::MakeApply(ScalarOp::kLessEqual, {Int(0), at}));
    inside = And(inside, Less(at, axis.in));
  }
  return inside;
}

BatchPlace PlaceBatch(ir::KernelBuilder& b, const GpuContraction& g, const ExprRef& z) {
  BatchPlace place{Int(0), Int(0), Int(0), {}};
  place.coords.assign(static_cast<size_t>(g.p.rank), Int(0));
  ExprRef rest = z;
  for (int i = g.batch_count - 1; i >= 0; --i) {
    const BatchAxis& axis = g.batch[static_cast<size_t>(i)];
    const ExprRef at = b.Let("z", i == 0 ? rest : ir::Mod(rest, axis.extent));
    rest = ir::FloorDiv(rest, axis.extent);
    place.row_offset = place.row_offset + at * axis.row_stride;
    place.column_offset = place.column_offset + at * axis.column_stride;
    if (axis.group) {
      place.group_column = at * g.n;
    } else {
      place.coords[static_cast<size_t>(axis.dim)] = at;
    }
  }
  return place;
}

ExprRef LaneOf(const ExprRef& value, int lane) {
  const int lanes = value->type.lanes;
  const ExprRef one = ir::MakeApply(ScalarOp::kEqual, {ir::MakeLaneIndex(DType::kI32, lanes),
                                                       ir::MakeBroadcast(I32(lane), lanes)});
  return ir::MakeReduce(
      ScalarOp::kAdd,
      ir::MakeApply(ScalarOp::kSelect, {one, value, ir::Float(value->type.dtype, 0, lanes)}));
}

ExprRef ZeroOf(DType dtype, int lanes) {
  return dtype == DType::kI32 ? ir::MakeBroadcast(I32(0), lanes) : ir::Float(dtype, 0, lanes);
}

ExprRef Xor(ir::KernelBuilder& b, const ExprRef& x, const ExprRef& y, int64_t limit) {
  ExprRef result = Int(0);
  const ExprRef p = b.Let("xa", x);
  const ExprRef q = b.Let("xb", y);
  for (int64_t bit = 1; bit < limit; bit *= 2) {
    const auto of = [&](const ExprRef& e) { return ir::Mod(ir::FloorDiv(e, bit), 2); };
    result = result + ir::Mod(of(p) + of(q), 2) * bit;
  }
  return b.Let("mixed", result);
}

ExprRef Swizzled(ir::KernelBuilder& b, const ExprRef& row, const ExprRef& chunk, int64_t chunks) {
  const int64_t reach = std::min<int64_t>(8, chunks);
  if (reach == 1) return chunk;
  const ExprRef key = ir::Mod(ir::FloorDiv(row, 8 / reach), reach);
  const ExprRef low = b.Let("low", ir::Mod(chunk, reach));
  return b.Let("chunk", chunk - low + Xor(b, low, key, reach));
}

}  // namespace mlc::schedule
