// Data movement whose coordinates are computed: gathers (indices read from memory) and resizing.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/schedule/fusion/fused_values.h"

namespace mlc::schedule {

using graph::Value;
using graph::ValueId;
using ir::ExprRef;

ExprRef FusedValues::Index(ValueId indices, Place place, int64_t size) {
  // One index serves all lanes: a vector never varies along a dimension of the indices.
  if (!place.Uniform()) return nullptr;
  place.lanes = 1;
  place.active = nullptr;
  ExprRef read = ValueAt(indices, std::make_shared<Place>(std::move(place)));
  if (!read) return nullptr;
  if (read->type.dtype != DType::kI64) read = ir::MakeCast(DType::kI64, read);
  const ExprRef raw = builder_.Let("i", read);
  const ExprRef wrapped = ir::MakeApply(
      ScalarOp::kSelect, {ir::MakeApply(ScalarOp::kLess, {raw, ir::Int(0)}), raw + size, raw});
  return builder_.Let("i", ir::Min(ir::Max(wrapped, ir::Int(0)), ir::Int(size - 1)));
}

ExprRef FusedValues::Gather(const Value& node, const Place& place) {
  const ValueId data = node.operands[0];
  const std::vector<int64_t>& dims = workload_.graph()[data].type.dims;
  const size_t axis = static_cast<size_t>(node.Int("axis"));
  const auto first = place.at.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto last = first + workload_.graph()[node.operands[1]].type.rank();
  Place index_place;
  index_place.lanes = place.lanes;
  index_place.at.assign(first, last);
  const ExprRef index = Index(node.operands[1], std::move(index_place), dims[axis]);
  if (!index) return nullptr;
  auto from = std::make_shared<Place>();
  from->lanes = place.lanes;
  from->active = place.active;
  from->at.assign(place.at.begin(), first);
  from->at.push_back({index, 0, 1});
  from->at.insert(from->at.end(), last, place.at.end());
  return ValueAt(data, from);
}

ExprRef FusedValues::GatherElements(const Value& node, const Place& place) {
  const ValueId data = node.operands[0];
  const size_t axis = static_cast<size_t>(node.Int("axis"));
  const int64_t size = workload_.graph()[data].type.dims[axis];
  const ExprRef index = Index(node.operands[1], place, size);
  if (!index) return nullptr;
  auto from = std::make_shared<Place>(place);
  from->at[axis] = {index, 0, 1};
  return ValueAt(data, from);
}

ExprRef FusedValues::GatherND(const Value& node, const Place& place) {
  const ValueId data = node.operands[0];
  const std::vector<int64_t>& dims = workload_.graph()[data].type.dims;
  const std::vector<int64_t>& index_dims = workload_.graph()[node.operands[1]].type.dims;
  const size_t batch = static_cast<size_t>(node.Int("batch_dims"));
  const size_t outer = index_dims.size() - 1;
  auto from = std::make_shared<Place>();
  from->lanes = place.lanes;
  from->active = place.active;
  from->at.assign(place.at.begin(), place.at.begin() + static_cast<std::ptrdiff_t>(batch));
  for (int64_t j = 0; j < index_dims.back(); ++j) {
    Place index_place;
    index_place.lanes = place.lanes;
    index_place.at.assign(place.at.begin(), place.at.begin() + static_cast<std::ptrdiff_t>(outer));
    index_place.at.push_back({ir::Int(j), 0, j});
    const int64_t size = dims[batch + static_cast<size_t>(j)];
    const ExprRef index = Index(node.operands[1], std::move(index_place), size);
    if (!index) return nullptr;
    from->at.push_back({index, 0, 1});
  }
  from->at.insert(from->at.end(), place.at.begin() + static_cast<std::ptrdiff_t>(outer),
                  place.at.end());
  return ValueAt(data, from);
}

namespace {

ExprRef F64(double value) { return ir::Float(DType::kF64, value); }
ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}
ExprRef Do(ScalarOp op, ExprRef a) { return ir::MakeApply(op, {std::move(a)}); }

struct Axis {
  int64_t in = 1;
  int64_t out = 1;
  double scale = 1;
};

Axis AxisOf(const Value& node, const std::vector<int64_t>& in_dims, size_t d) {
  Axis axis{in_dims[d], node.type.dims[d], 1};
  const auto found = node.attrs.find("scales");
  const std::vector<double>* scales =
      found == node.attrs.end() ? nullptr : std::get_if<std::vector<double>>(&found->second);
  axis.scale = scales != nullptr && d < scales->size()
                   ? (*scales)[d]
                   : static_cast<double>(axis.out) / static_cast<double>(axis.in);
  return axis;
}

// The position in the operand that an output coordinate samples, in double.
ExprRef SampledAt(const std::string& mode, const Axis& axis, const ExprRef& coordinate) {
  const ExprRef x = ir::MakeCast(DType::kF64, coordinate);
  const ExprRef scale = F64(axis.scale);
  if (mode == "asymmetric") return Do(ScalarOp::kDiv, x, scale);
  if (mode == "align_corners") {
    if (axis.out == 1) return F64(0);
    return Do(ScalarOp::kDiv, Do(ScalarOp::kMul, x, F64(static_cast<double>(axis.in - 1))),
              F64(static_cast<double>(axis.out - 1)));
  }
  if (mode == "pytorch_half_pixel" && axis.out == 1) return F64(0);
  const ExprRef half =
      Do(ScalarOp::kSub, Do(ScalarOp::kDiv, Do(ScalarOp::kAdd, x, F64(0.5)), scale), F64(0.5));
  if (mode != "half_pixel_symmetric") return half;
  const double adjustment =
      static_cast<double>(axis.out) / (axis.scale * static_cast<double>(axis.in));
  const double offset = static_cast<double>(axis.in) / 2 * (1 - adjustment);
  return Do(ScalarOp::kAdd, half, F64(offset));
}

ExprRef Nearest(const std::string& mode, const ExprRef& position) {
  if (mode == "floor") return Do(ScalarOp::kFloor, position);
  if (mode == "ceil") return Do(ScalarOp::kCeil, position);
  if (mode == "round_prefer_ceil") {
    return Do(ScalarOp::kFloor, Do(ScalarOp::kAdd, position, F64(0.5)));
  }
  return Do(ScalarOp::kCeil, Do(ScalarOp::kSub, position, F64(0.5)));
}

ExprRef Clamped(const ExprRef& position, int64_t size) {
  return ir::Min(ir::Max(ir::MakeCast(DType::kI64, position), ir::Int(0)), ir::Int(size - 1));
}

}  // namespace

// Resolves the coordinates of dimension `dim` and of those after it; linear interpolation reads two
// neighbours in each resized dimension.
ExprRef FusedValues::ResizeAxis(const Value& node, Place place, size_t dim) {
  const ValueId operand = node.operands[0];
  const std::vector<int64_t>& dims = workload_.graph()[operand].type.dims;
  while (dim < dims.size() && AxisOf(node, dims, dim).in == AxisOf(node, dims, dim).out &&
         AxisOf(node, dims, dim).scale == 1) {
    ++dim;
  }
  if (dim == dims.size()) return ValueAt(operand, std::make_shared<Place>(std::move(place)));
  if (place.at[dim].step != 0) return nullptr;
  const Axis axis = AxisOf(node, dims, dim);
  const ExprRef position = SampledAt(node.Word("coordinate_mode"), axis, place.at[dim].base);
  const auto at = [&](const ExprRef& index) {
    Place moved = place;
    moved.at[dim] = axis.in == 1 ? Coord{ir::Int(0), 0, 0}
                                 : Coord{builder_.Let("s", Clamped(index, axis.in)), 0, 1};
    return ResizeAxis(node, std::move(moved), dim + 1);
  };
  if (node.Word("mode") == "nearest") return at(Nearest(node.Word("nearest_mode"), position));
  const ExprRef low = Do(ScalarOp::kFloor, position);
  const ExprRef below = at(low);
  const ExprRef above = at(Do(ScalarOp::kAdd, low, F64(1)));
  if (!below || !above) return nullptr;
  const DType dtype = below->type.dtype;
  ExprRef weight = ir::MakeCast(dtype, Do(ScalarOp::kSub, position, low));
  if (below->type.lanes > 1) weight = ir::MakeBroadcast(weight, below->type.lanes);
  const ExprRef kept = registers_.Keep(below);
  return ir::MakeApply(ScalarOp::kFma, {Do(ScalarOp::kSub, above, kept), weight, kept});
}

}  // namespace mlc::schedule
