// Data movement as a change of coordinates: from a place in a node's index space to the place in
// its operand's.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "compiler/schedule/fusion/fused_values.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using ir::ExprRef;

namespace {

ExprRef Less(const ExprRef& a, const ExprRef& b) { return ir::MakeApply(ScalarOp::kLess, {a, b}); }
ExprRef LessEqual(const ExprRef& a, const ExprRef& b) {
  return ir::MakeApply(ScalarOp::kLessEqual, {a, b});
}

}  // namespace

ExprRef FusedValues::Moved(const Value& node, const Place& place) {
  const ValueId operand = node.operands[0];
  const std::vector<int64_t>& dims = workload_.graph()[operand].type.dims;
  auto from = std::make_shared<Place>(place);
  switch (node.op) {
    case Op::kTranspose: {
      const std::vector<int64_t>& perm = node.Ints("perm");
      for (size_t d = 0; d < perm.size(); ++d) from->at[static_cast<size_t>(perm[d])] = place.at[d];
      return ValueAt(operand, from);
    }
    case Op::kReshape:
      if (!Reshape(builder_, place, node.type.dims, dims, from.get())) return nullptr;
      return ValueAt(operand, from);
    case Op::kExpand:
      return ValueAt(operand, Broadcasted(from, dims));
    case Op::kSlice: {
      const std::vector<int64_t>& starts = node.Ints("starts");
      const std::vector<int64_t>& steps = node.Ints("steps");
      for (size_t d = 0; d < dims.size(); ++d) {
        Coord& c = from->at[d];
        c = {c.base * steps[d] + starts[d], c.step * steps[d],
             std::gcd(c.align * steps[d], starts[d])};
      }
      return ValueAt(operand, from);
    }
    case Op::kTile:
      for (size_t d = 0; d < dims.size(); ++d) {
        Coord round;
        if (node.type.dims[d] == dims[d]) continue;
        if (!Split(builder_, place.at[d], dims[d], place.lanes, &round, &from->at[d]))
          return nullptr;
        if (round.step != 0) return nullptr;
      }
      return ValueAt(operand, from);
    case Op::kConcat:
      return Concat(node, place, 0);
    case Op::kPad:
      return Pad(node, place);
    case Op::kTrilu:
      return Trilu(node, place);
    case Op::kView:
      return View(node, place);
    default:
      MLC_CHECK(false) << "not a data movement: " << graph::ToText(node.op);
      return nullptr;
  }
}

ExprRef FusedValues::View(const Value& node, const Place& place) {
  const ValueId operand = node.operands[0];
  const Value& source = workload_.graph()[operand];
  const int64_t offset = node.Has("offset") ? node.Int("offset") : 0;
  if (source.op == Op::kInput || source.op == Op::kWeight) {
    return Source(operand, place, node.type, offset);
  }
  // The storage of a computed operand is its dense order.
  if (!source.type.IsDense()) return nullptr;
  const std::vector<int64_t> strides = node.type.EffectiveStrides();
  Place linear;
  linear.lanes = place.lanes;
  linear.active = place.active;
  linear.at.push_back({ir::Int(offset), 0, offset});
  Coord& sum = linear.at[0];
  for (size_t d = 0; d < strides.size(); ++d) {
    if (node.type.dims[d] == 1) continue;
    sum.base = sum.base + place.at[d].base * strides[d];
    sum.step += place.at[d].step * strides[d];
    sum.align = std::gcd(sum.align, place.at[d].align * strides[d]);
  }
  auto from = std::make_shared<Place>();
  const int64_t elements = source.type.NumElements();
  if (!Reshape(builder_, linear, {elements}, source.type.dims, from.get())) return nullptr;
  return ValueAt(operand, from);
}

ExprRef FusedValues::Concat(const Value& node, const Place& place, size_t from) {
  const size_t axis = static_cast<size_t>(node.Int("axis"));
  int64_t start = 0;
  for (size_t i = 0; i < from; ++i) {
    start += workload_.graph()[node.operands[i]].type.dims[axis];
  }
  const ValueId operand = node.operands[from];
  const int64_t end = start + workload_.graph()[operand].type.dims[axis];
  const Coord& along = place.at[axis];
  const auto here = [&]() -> ExprRef {
    auto inner = std::make_shared<Place>(place);
    Coord& c = inner->at[axis];
    c.base = c.base - start;
    c.align = std::gcd(c.align, start);
    // An operand of one slice is at coordinate 0, whatever the position.
    if (end - start == 1) c = {ir::Int(0), 0, 0};
    return ValueAt(operand, inner);
  };
  if (from + 1 == node.operands.size()) return here();
  const int64_t span = along.step * place.lanes;
  if (along.step != 0 && (span < 0 || end % span != 0 || along.align % span != 0)) return nullptr;
  return Branch(
      Less(along.base, ir::Int(end)), here, [&] { return Concat(node, place, from + 1); },
      ComputeType(node.type.dtype), place.Uniform() ? 1 : place.lanes);
}

ExprRef FusedValues::Pad(const Value& node, const Place& place) {
  const ValueId operand = node.operands[0];
  const std::vector<int64_t>& dims = workload_.graph()[operand].type.dims;
  const std::vector<int64_t>& pads = node.Ints("pads");
  const std::string& mode = node.Word("mode");
  auto from = std::make_shared<Place>(place);
  ExprRef inside;
  const auto require = [&](const ExprRef& condition) {
    inside = inside ? ir::MakeApply(ScalarOp::kAnd, {inside, condition}) : condition;
  };
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t before = pads[d];
    const int64_t after = pads[d + dims.size()];
    Coord& c = from->at[d];
    c.base = builder_.Let("p", c.base - before);
    c.align = std::gcd(c.align, before);
    if (before <= 0 && after <= 0) continue;
    const int64_t span = c.step * place.lanes;
    const bool whole =
        span >= 0 &&
        (span == 0 || (mode == "constant" && dims[d] % span == 0 && c.align % span == 0));
    if (!whole) return nullptr;
    const ExprRef last = ir::Int(dims[d] - 1);
    if (mode == "constant") {
      if (before > 0) require(LessEqual(ir::Int(0), c.base));
      if (after > 0) require(Less(c.base, ir::Int(dims[d])));
    } else if (mode == "reflect") {
      const ExprRef positive = ir::Max(c.base, ir::Int(0) - c.base);
      const ExprRef back = last - positive;
      c = {builder_.Let("p", last - ir::Max(back, ir::Int(0) - back)), 0, 1};
    } else if (mode == "edge") {
      c = {builder_.Let("p", ir::Min(ir::Max(c.base, ir::Int(0)), last)), 0, 1};
    } else {
      c = {builder_.Let("p", ir::Mod(c.base, dims[d])), 0, 1};
    }
    if (dims[d] == 1) c = {ir::Int(0), 0, 0};
  }
  if (!inside) return ValueAt(operand, from);
  return Branch(
      inside, [&] { return ValueAt(operand, from); }, [&] { return SplatOf(node); },
      ComputeType(node.type.dtype), place.Uniform() ? 1 : place.lanes);
}

ExprRef FusedValues::Trilu(const Value& node, const Place& place) {
  const size_t rank = place.at.size();
  const Coord& row = place.at[rank - 2];
  const Coord& column = place.at[rank - 1];
  const int64_t k = node.Int("k");
  const bool upper = node.Int("upper") != 0;
  auto from = std::make_shared<Place>(place);
  ExprRef value = ValueAt(node.operands[0], from);
  if (!value) return nullptr;
  const int64_t step = column.step - row.step;
  // Kept where the lane's (column - row) is at least k (upper), or at most k (lower).
  const ExprRef above = column.base - row.base - k;
  const bool vector = step != 0 && place.lanes > 1;
  ExprRef keep;
  if (!vector) {
    keep = upper ? LessEqual(ir::Int(0), above) : LessEqual(above, ir::Int(0));
  } else if (step == 1) {
    // above + lane >= 0 is not (lane < -above); above + lane <= 0 is lane < 1 - above.
    const ExprRef below = ir::Int(0) - above;
    keep = upper ? ir::MakeApply(ScalarOp::kNot, {ir::MakeLaneMask(below, place.lanes)})
                 : ir::MakeLaneMask(below + 1, place.lanes);
  } else if (step == -1) {
    keep = upper ? ir::MakeLaneMask(above + 1, place.lanes)
                 : ir::MakeApply(ScalarOp::kNot, {ir::MakeLaneMask(above, place.lanes)});
  } else {
    return nullptr;
  }
  const int lanes = std::max(keep->type.lanes, value->type.lanes);
  const auto widen = [lanes](const ExprRef& e) {
    return e->type.lanes == lanes ? e : ir::MakeBroadcast(e, lanes);
  };
  ExprRef zero =
      IsFloat(value->type.dtype)
          ? ir::Float(value->type.dtype, 0)
          : std::make_shared<const ir::Expr>(ir::Expr{{value->type.dtype, 1}, ir::IntImm{0}});
  return ir::MakeApply(ScalarOp::kSelect, {widen(keep), widen(value), widen(zero)});
}

}  // namespace mlc::schedule
