#include "compiler/graph/ranged/length_masks.h"

#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/graph/ranged/growing_cache.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

class Masks {
 public:
  Masks(Graph& graph, int64_t count) : graph_(graph) {
    lengths_ = graph_.Input({DType::kI32, {count}, {}}, kLengthsInput);
  }
  Masks(Graph& graph, std::span<const ValueId> lengths)
      : graph_(graph), computed_(lengths.begin(), lengths.end()) {}

  Status Add(const Need& need, int length) {
    switch (need.kind) {
      case Need::Kind::kMask:
        return Mask(need, length);
      case Need::Kind::kMean:
        return Mean(need, length);
      case Need::Kind::kScores:
        return Scores(need, length);
      case Need::Kind::kIndex:
        return Index(need, length);
      case Need::Kind::kStart:
        return Start(need, length);
      case Need::Kind::kJoin:
        return Join(need, length);
      case Need::Kind::kNumber:
        return Number(need, length);
    }
    return {};
  }

 private:
  Result<ValueId> Append(Op op, std::vector<ValueId> operands, TensorType type = {},
                         Attrs attrs = {}) {
    Value value;
    value.op = op;
    value.operands = std::move(operands);
    value.type = std::move(type);
    value.attrs = std::move(attrs);
    return AddInferred(graph_, std::move(value));
  }

  Result<ValueId> CastTo(ValueId x, DType dtype) {
    if (graph_[x].type.dtype == dtype) return x;
    return Append(Op::kCast, {x}, {dtype, graph_[x].type.dims, {}});
  }

  // i32[1].
  Result<ValueId> Length(int length) {
    if (!computed_.empty()) return computed_[static_cast<size_t>(length)];
    return Append(Op::kSlice, {lengths_}, {DType::kI32, {1}, {}},
                  {{"starts", Dims{length}}, {"steps", Dims{1}}});
  }

  // 0, 1, ... times `step`, with `trailing` more dimensions of length 1.
  ValueId Places(DType dtype, int64_t size, int64_t step, int trailing) {
    Dims places(static_cast<size_t>(size));
    for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i) * step;
    Dims dims(static_cast<size_t>(trailing) + 1, 1);
    dims[0] = size;
    return graph_.Constant(WriteInts(dtype, std::move(dims), places));
  }

  // Whether a place on an axis of this size is a true one.
  Result<ValueId> IsTrue(int64_t size, int trailing, int length) {
    const auto [entry, is_new] = conditions_.try_emplace({size, trailing, length}, kNoValue);
    if (is_new) {
      const ValueId end = MLC_TRY(Length(length));
      entry->second =
          graph_.Pointwise(ScalarOp::kLess, {Places(DType::kI32, size, 1, trailing), end});
    }
    return entry->second;
  }

  Result<ValueId> Masked(ValueId x, int axis, double fill, int length) {
    const TensorType type = graph_[x].type;
    const ValueId condition =
        MLC_TRY(IsTrue(type.dims[static_cast<size_t>(axis)], type.rank() - 1 - axis, length));
    return graph_.Pointwise(ScalarOp::kSelect, {condition, x, graph_.Splat(type.dtype, fill)});
  }

  ValueId& OperandOf(const Need& need) {
    return graph_[need.node].operands[static_cast<size_t>(need.operand)];
  }

  Status Mask(const Need& need, int length) {
    const ValueId masked = MLC_TRY(Masked(OperandOf(need), need.axis, need.fill, length));
    OperandOf(need) = masked;
    return {};
  }

  // Of all elements, of which those beyond the length are zero, times all over the true ones.
  Status Mean(const Need& need, int length) {
    const DType dtype = graph_[need.node].type.dtype;
    const int64_t all = graph_[OperandOf(need)].type.dims[static_cast<size_t>(need.axis)];
    const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
    const ValueId end = MLC_TRY(CastTo(MLC_TRY(Length(length)), wide));
    ValueId factor =
        graph_.Pointwise(ScalarOp::kDiv, {graph_.Splat(wide, static_cast<double>(all)), end});
    factor = MLC_TRY(CastTo(factor, dtype));
    if (graph_[need.node].type.rank() == 0) {
      factor = MLC_TRY(Append(Op::kReshape, {factor}, {dtype, {}, {}}));
    }
    const auto old = means_.try_emplace(need.node, need.node).first;
    const ValueId scaled = graph_.Pointwise(ScalarOp::kMul, {old->second, factor});
    ReplaceUsers(old->second, scaled);
    old->second = scaled;
    return {};
  }

  void ReplaceUsers(ValueId from, ValueId to) {
    graph_.ReplaceUses(from, to);
    for (ValueId& operand : graph_[to].operands) {
      if (operand == to) operand = from;
    }
  }

  Status Scores(const Need& need, int length) {
    const DType dtype = graph_[need.node].type.dtype;
    const int64_t keys = graph_[OperandOf(need)].type.dims[static_cast<size_t>(need.axis)];
    const bool has_mask =
        graph_[need.node].operands.size() > 3 && graph_[need.node].operands[3] != kNoValue;
    const ValueId mask = has_mask ? graph_[need.node].operands[3] : graph_.Splat(dtype, 0);
    const DType mask_type = graph_[mask].type.dtype;
    const ValueId condition = MLC_TRY(IsTrue(keys, 0, length));
    const ValueId hidden = graph_.Splat(mask_type, -std::numeric_limits<double>::infinity());
    const ValueId joined = graph_.Pointwise(ScalarOp::kSelect, {condition, mask, hidden});
    graph_[need.node].operands.resize(4, kNoValue);
    graph_[need.node].operands[3] = joined;
    return {};
  }

  // Negative indices count from the end of the true elements.
  Status Index(const Need& need, int length) {
    const ValueId indices = graph_[need.node].operands[1];
    const DType dtype = graph_[indices].type.dtype;
    ValueId end = MLC_TRY(CastTo(MLC_TRY(Length(length)), dtype));
    if (graph_[indices].type.rank() == 0) {
      end = MLC_TRY(Append(Op::kReshape, {end}, {dtype, {}, {}}));
    }
    const ValueId negative = graph_.Pointwise(ScalarOp::kLess, {indices, graph_.Splat(dtype, 0)});
    const ValueId moved = graph_.Pointwise(ScalarOp::kAdd, {indices, end});
    graph_[need.node].operands[1] = graph_.Pointwise(ScalarOp::kSelect, {negative, moved, indices});
    return {};
  }

  // The slice takes all of the axis; a gather takes the true places.
  Status Start(const Need& need, int length) {
    const TensorType result = graph_[need.node].type;
    const auto axis = static_cast<size_t>(need.axis);
    const int64_t size = result.dims[axis];
    const int64_t step = graph_[need.node].Ints("steps")[axis];
    const ValueId begin = MLC_TRY(CastTo(MLC_TRY(Length(length)), DType::kI64));
    const ValueId indices =
        graph_.Pointwise(ScalarOp::kAdd, {Places(DType::kI64, size, step, 0), begin});
    const ValueId gathered = MLC_TRY(
        Append(Op::kGather, {OperandOf(need), indices}, {}, {{"axis", int64_t{need.axis}}}));
    Dims starts = graph_[need.node].Ints("starts");
    Dims steps = graph_[need.node].Ints("steps");
    starts[axis] = 0;
    steps[axis] = 1;
    graph_[need.node].attrs["starts"] = std::move(starts);
    graph_[need.node].attrs["steps"] = std::move(steps);
    OperandOf(need) = gathered;
    return {};
  }

  // Elements behind the operand move to its end. REQUIRES: its needs come by ascending operand.
  Status Join(const Need& need, int length) {
    if (IsGrowingCache(graph_, need.node)) {
      return WriteBehind(graph_, need.node, MLC_TRY(Length(length))).status();
    }
    const auto axis = static_cast<size_t>(need.axis);
    Joined& joined = joined_.try_emplace(need.node, Joined{need.node, 0, kNoValue}).first->second;
    int64_t known = 0;  // of the operands before, that have all their elements
    for (; joined.next < need.operand; ++joined.next)
      known += SizeOfOperand(need, joined.next, axis);
    const ValueId own = MLC_TRY(Length(length));
    ValueId end = graph_.Pointwise(ScalarOp::kAdd, {own, Number(known)});
    if (joined.end != kNoValue) end = graph_.Pointwise(ScalarOp::kAdd, {end, joined.end});
    const int64_t size = graph_[need.node].type.dims[axis];
    const int64_t room = SizeOfOperand(need, joined.next++, axis);
    const ValueId places = Places(DType::kI32, size, 1, 0);
    const ValueId moved = graph_.Pointwise(
        ScalarOp::kMin,
        {graph_.Pointwise(ScalarOp::kAdd,
                          {places, graph_.Pointwise(ScalarOp::kSub, {Number(room), own})}),
         Number(size - 1)});
    const ValueId before = graph_.Pointwise(ScalarOp::kLess, {places, end});
    const ValueId from = graph_.Pointwise(ScalarOp::kSelect, {before, places, moved});
    const ValueId gathered =
        MLC_TRY(Append(Op::kGather, {joined.value, from}, {}, {{"axis", int64_t{need.axis}}}));
    ReplaceUsers(joined.value, gathered);
    joined.value = gathered;
    joined.end = end;
    return {};
  }

  int64_t SizeOfOperand(const Need& need, int operand, size_t axis) const {
    return graph_[graph_[need.node].operands[static_cast<size_t>(operand)]].type.dims[axis];
  }

  // i32[1].
  ValueId Number(int64_t number) {
    return graph_.Constant(WriteInts(DType::kI32, {1}, Dims{number}));
  }

  // The element of the constant becomes the length.
  Status Number(const Need& need, int length) {
    const TensorType type = graph_[need.node].type;
    const ValueId old = numbers_.try_emplace(need.node, need.node).first->second;
    ValueId number = MLC_TRY(CastTo(MLC_TRY(Length(length)), type.dtype));
    if (type.rank() == 0) number = MLC_TRY(Append(Op::kReshape, {number}, {type.dtype, {}, {}}));
    Dims is_its(static_cast<size_t>(type.NumElements()), 0);
    is_its[static_cast<size_t>(need.operand)] = 1;
    const ValueId condition = graph_.Constant(WriteInts(DType::kBool, type.dims, is_its));
    const ValueId replaced = graph_.Pointwise(ScalarOp::kSelect, {condition, number, old});
    ReplaceUsers(old, replaced);
    numbers_[need.node] = replaced;
    return {};
  }

  Graph& graph_;
  ValueId lengths_ = kNoValue;
  std::vector<ValueId> computed_;  // by length; empty: they are elements of lengths_
  struct Joined {
    ValueId value;  // what stands for the concatenation
    int next;       // operand
    ValueId end;    // i32[1]: the elements of the operands before it
  };
  std::map<ValueId, Joined> joined_;    // by concatenation
  std::map<ValueId, ValueId> numbers_;  // by constant: what stands for it
  std::map<std::tuple<int64_t, int, int>, ValueId> conditions_;
  std::map<ValueId, ValueId> means_;  // by node: the mean, scaled for the axes so far
};

Status AddAll(Graph& graph, std::span<const MaskedNeed> needs, Masks masks) {
  for (const MaskedNeed& need : needs) MLC_TRY(masks.Add(need.need, need.length));
  graph.Compact();
  return graph.Verify();
}

}  // namespace

int64_t LengthIn(const Graph& graph, const Need& need) {
  const Value& node = graph[need.node];
  const auto axis = static_cast<size_t>(need.axis);
  if (need.kind == Need::Kind::kNumber) return ReadInt(*node.data, need.operand);
  if (need.kind == Need::Kind::kStart) return node.Ints("starts")[axis];
  return graph[node.operands[static_cast<size_t>(need.operand)]].type.dims[axis];
}

Status AddLengthMasks(Graph& graph, std::span<const MaskedNeed> needs, int64_t count) {
  return AddAll(graph, needs, Masks(graph, count));
}

Status AddLengthMasks(Graph& graph, std::span<const MaskedNeed> needs,
                      std::span<const ValueId> lengths) {
  return AddAll(graph, needs, Masks(graph, lengths));
}

}  // namespace mlc::graph
