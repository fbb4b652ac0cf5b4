#include "compiler/graph/physical/views.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace mlc::graph {

namespace {

// The dimensions of size above one, with their strides, where neighbours that lie next to each
// other in memory are merged.
struct Run {
  int64_t size;
  int64_t stride;
};

std::vector<Run> MergedRuns(const TensorType& type) {
  std::vector<Run> runs;
  for (int i = 0; i < type.rank(); ++i) {
    const auto d = static_cast<size_t>(i);
    if (type.dims[d] == 1) continue;
    if (!runs.empty() && runs.back().stride == type.strides[d] * type.dims[d]) {
      runs.back() = {runs.back().size * type.dims[d], type.strides[d]};
    } else {
      runs.push_back({type.dims[d], type.strides[d]});
    }
  }
  return runs;
}

// Splits the runs, from the right, along the new dimensions.
std::optional<std::vector<int64_t>> ReshapedStrides(const TensorType& from,
                                                    const std::vector<int64_t>& dims) {
  if (from.NumElements() == 0) return DenseStrides(dims);
  std::vector<Run> runs = MergedRuns(from);
  std::vector<int64_t> strides(dims.size(), 0);
  int64_t below = 1;  // elements of the current run already given away
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (runs.empty() || runs.back().size % (below * dims[i]) != 0) return std::nullopt;
    strides[i] = runs.back().stride * below;
    below *= dims[i];
    if (below == runs.back().size) {
      runs.pop_back();
      below = 1;
    }
  }
  if (!runs.empty()) return std::nullopt;
  return strides;
}

// A dimension of size one gets the span of the dimensions to its right, as if they were packed.
void FillUnitStrides(TensorType* type) {
  int64_t span = 1;
  for (size_t i = type->dims.size(); i-- > 0;) {
    if (type->dims[i] == 1) type->strides[i] = span;
    span = std::max(span, type->strides[i] * type->dims[i]);
  }
}

bool SameAddresses(const TensorType& type, const std::vector<int64_t>& strides) {
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.dims[i] != 1 && type.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

bool IsSource(const Value& node) {
  return node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant ||
         node.op == Op::kDequantize;
}

bool IsViewOp(const Value& node) {
  switch (node.op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kExpand:
      return true;
    case Op::kSlice: {
      const std::vector<int64_t>& steps = node.Ints("steps");
      return std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step > 0; });
    }
    default:
      return false;
  }
}

StridedView WholeOf(const TensorType& type) {
  StridedView view{0, type};
  view.type.strides = type.EffectiveStrides();
  return view;
}

std::optional<StridedView> ThroughView(const Value& node, const StridedView& operand) {
  StridedView result{operand.offset, node.type};
  const std::vector<int64_t>& from = operand.type.strides;
  std::vector<int64_t>& to = result.type.strides;
  to.assign(node.type.dims.size(), 0);
  switch (node.op) {
    case Op::kTranspose: {
      const std::vector<int64_t>& perm = node.Ints("perm");
      for (size_t i = 0; i < perm.size(); ++i) to[i] = from[static_cast<size_t>(perm[i])];
      break;
    }
    case Op::kSlice: {
      const std::vector<int64_t>& starts = node.Ints("starts");
      const std::vector<int64_t>& steps = node.Ints("steps");
      const bool empty = node.type.NumElements() == 0;
      for (size_t i = 0; i < to.size(); ++i) {
        if (!empty) result.offset += starts[i] * from[i];
        to[i] = from[i] * steps[i];
      }
      break;
    }
    case Op::kExpand: {
      const size_t lead = to.size() - from.size();
      for (size_t i = 0; i < from.size(); ++i) {
        const bool same = operand.type.dims[i] == node.type.dims[lead + i];
        to[lead + i] = same ? from[i] : 0;
      }
      break;
    }
    default: {
      MLC_CHECK(node.op == Op::kReshape) << "not a view operator";
      std::optional<std::vector<int64_t>> strides = ReshapedStrides(operand.type, node.type.dims);
      if (!strides) return std::nullopt;
      to = *std::move(strides);
      break;
    }
  }
  return result;
}

TensorType Canonical(const TensorType& type) {
  TensorType result = type;
  if (type.strides.empty()) return result;
  if (type.NumElements() <= 1 || SameAddresses(type, DenseStrides(type.dims))) {
    result.strides.clear();
    return result;
  }
  if (type.rank() >= 3) {
    std::vector<int64_t> channels_last = ChannelsLastStrides(type.dims);
    if (SameAddresses(type, channels_last)) {
      result.strides = std::move(channels_last);
      return result;
    }
  }
  FillUnitStrides(&result);
  return result;
}

std::vector<int64_t> StridesOfOrder(const std::vector<int64_t>& dims,
                                    const std::vector<int>& order) {
  std::vector<int64_t> strides(dims.size(), 1);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    strides[dim] = stride;
    stride *= std::max<int64_t>(dims[dim], 1);
  }
  return strides;
}

std::vector<int> DenseOrder(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> ChannelsLastOrder(int rank) {
  std::vector<int> order = DenseOrder(rank);
  if (rank >= 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

}  // namespace mlc::graph
