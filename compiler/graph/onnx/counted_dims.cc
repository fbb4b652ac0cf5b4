#include "compiler/graph/onnx/counted_dims.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/onnx/model.h"

namespace mlc::graph::onnx {
namespace {

constexpr size_t kMostDims = 16;
constexpr int64_t kMostRoom = int64_t{1} << 26;

}  // namespace

int CountedDims::Add(Builder& b, ValueId count, int64_t most) {
  if (!b.ok()) return -1;
  if (!allowed_) {
    b.Fail(
        Unimplemented("the shape of its result depends on the values of operands that are not "
                      "constant: it is not supported here"));
    return -1;
  }
  if (dims_.size() == kMostDims) {
    b.Fail(Unimplemented("more than " + std::to_string(kMostDims) +
                         " shapes that depend on data are not supported"));
    return -1;
  }
  if (most > kMostRoom) {
    b.Fail(Unimplemented("a result of up to " + std::to_string(most) +
                         " elements along an axis is not supported: at most " +
                         std::to_string(kMostRoom)));
    return -1;
  }
  CountedDim dim{Printable(node_), most, most, count};
  if (dims_.size() < lengths_.size()) dim.length = std::min(most, lengths_[dims_.size()]);
  dims_.push_back(std::move(dim));
  return static_cast<int>(dims_.size()) - 1;
}

ValueId CountedDims::Cut(Builder& b, ValueId x, int64_t axis, int dim) const {
  if (!b.ok() || dim < 0) return kNoValue;
  const CountedDim& counted = dims_[static_cast<size_t>(dim)];
  if (b.Dim(x, axis) < counted.most) {
    Dims pads(2 * b.DimsOf(x).size(), 0);
    pads[b.DimsOf(x).size() + static_cast<size_t>(axis)] = counted.most - b.Dim(x, axis);
    x = b.Pad(x, std::move(pads), 0);
  }
  return b.SliceAxis(x, axis, 0, counted.length);
}

ValueId CountedDims::Cut(Builder& b, ValueId x, int64_t axis, const Places& like) const {
  return like.dim >= 0 ? Cut(b, x, axis, like.dim) : b.SliceAxis(x, axis, 0, b.Dim(like.places, 0));
}

int CountedDims::LimitOf(Builder& b, ValueId given, int64_t most) {
  const auto [entry, is_new] = limits_.try_emplace({given, most}, -1);
  if (!is_new) return entry->second;
  const ValueId number = b.Reshape(b.Cast(given, DType::kI64), {1});
  const ValueId count = b.Min(b.Max(number, b.IntScalar(0)), b.IntScalar(most));
  entry->second = Add(b, count, std::max(most, kLeastRoom));
  return entry->second;
}

CountedDims::Places CountedDims::PlacesOf(Builder& b, ValueId condition) {
  const auto [entry, is_new] = places_.try_emplace(condition);
  if (!is_new) return entry->second;
  Places& found = entry->second;
  if (b.IsConstant(condition)) {
    const Dims values = b.Ints(condition, "operand");
    Dims places;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) places.push_back(static_cast<int64_t>(i));
    }
    found.places = found.room = b.IntVector(places);
    return found;
  }
  const int64_t room = std::max(b.Dim(condition, 0), kLeastRoom);
  Value node;
  node.op = Op::kNonZero;
  node.operands = {condition};
  node.type = {DType::kI64, {room}, {}};
  found.room = b.Add(std::move(node));
  const ValueId ones = b.Cast(condition, DType::kI32);
  const ValueId count = b.Cast(b.Reduce("sum", ones, {0}, true), DType::kI64);
  found.dim = Add(b, count, room);
  found.places = Cut(b, found.room, 0, found.dim);
  return found;
}

ValueId CountedDims::ConditionOf(Builder& b, ValueId x) {
  const auto [entry, is_new] = conditions_.try_emplace(x, kNoValue);
  if (!is_new) return entry->second;
  ValueId& condition = entry->second;
  condition = b.Reshape(x, {b.TypeOf(x).NumElements()});
  if (b.DTypeOf(x) == DType::kBool) return condition;
  const ValueId zero = b.ScalarLike(x, 0);
  condition = b.Apply(ScalarOp::kNot, {b.Apply(ScalarOp::kEqual, {condition, zero})});
  return condition;
}

}  // namespace mlc::graph::onnx
