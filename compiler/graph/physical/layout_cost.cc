#include "compiler/graph/physical/layout_cost.h"

#include <algorithm>

#include "compiler/graph/physical/layout.h"

namespace mlc::graph {

namespace {

// A copy reads and writes every byte; walking memory against its order wastes part of each line.
constexpr double kCopyFactor = 2.0;
constexpr double kAgainstGrainFactor = 1.0;
// Where neighbours come from computed places, elements are read one by one.
constexpr double kScatteredFactor = 8.0;

double Bytes(const TensorType& type) {
  return static_cast<double>(type.NumElements()) * SizeOf(type.dtype);
}

// Kernels that keep channels in vector lanes.
bool PrefersChannelsLast(const Value& node) {
  return (node.op == Op::kConv || node.op == Op::kPool || node.op == Op::kResize) &&
         node.type.rank() >= 3;
}

// The dimension that a row kernel walks; -1 if the node is no row kernel.
int RowDim(const Value& node, const TensorType& operand) {
  switch (node.op) {
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kArg:
    case Op::kCumSum:
      return static_cast<int>(node.Int("axis"));
    case Op::kLayerNorm:
      return NormalisesImage(node) ? -1 : operand.rank() - 1;
    case Op::kMatMul:
    case Op::kAttention:
      return operand.rank() - 1;
    default:
      return -1;
  }
}

// True if the node walks the operand along the dimensions of its result.
bool SameGrid(const Value& node, const TensorType& operand) {
  const bool moves = node.op == Op::kConcat || node.op == Op::kPad || node.op == Op::kTile ||
                     node.op == Op::kSlice || node.op == Op::kResize;
  return moves ? operand.rank() == node.type.rank() : operand.dims == node.type.dims;
}

bool ChannelsInnermost(const TensorType& type) {
  return type.dims[1] == 1 || InnermostDim(type) == 1 || InnermostDim(type) == -1;
}

}  // namespace

bool NormalisesImage(const Value& node) {
  return node.op == Op::kLayerNorm && node.Int("axis") + 1 < node.type.rank() &&
         std::all_of(node.operands.begin() + 1, node.operands.end(),
                     [](ValueId operand) { return operand == kNoValue; });
}

int InnermostDim(const TensorType& type) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  int best = -1;
  for (int i = 0; i < type.rank(); ++i) {
    const auto d = static_cast<size_t>(i);
    if (type.dims[d] == 1 || strides[d] == 0) continue;
    if (best < 0 || strides[d] < strides[static_cast<size_t>(best)]) best = i;
  }
  return best;
}

LayoutCost::LayoutCost(const Graph& graph, const std::vector<std::vector<int>>& orders,
                       const PlaceRules& rules)
    : graph_(graph),
      rules_(rules),
      orders_(orders),
      users_(graph.Users()),
      is_output_(static_cast<size_t>(graph.size()), false) {
  for (std::vector<ValueId>& users : users_) {
    std::sort(users.begin(), users.end());
    users.erase(std::unique(users.begin(), users.end()), users.end());
  }
  for (ValueId output : graph.outputs()) is_output_[static_cast<size_t>(output)] = true;
}

double LayoutCost::Of(ValueId value, const std::vector<int>& order) const {
  StridedView view{0, graph_[value].type};
  view.type.strides = StridesOfOrder(view.type.dims, order);
  return ProducerCost(graph_[value], view) + UsersCost(value, view);
}

std::vector<int> LayoutCost::OrderOf(ValueId view) const {
  const TensorType type = Locate(view).type;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  std::vector<int> order = DenseOrder(type.rank());
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  return order;
}

bool LayoutCost::IsWhole(ValueId view) const {
  ValueId root = view;
  while (IsViewOp(graph_[root])) root = graph_[root].operands[0];
  if (graph_[root].op == Op::kConstant) return false;
  const TensorType type = Locate(view).type;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  for (size_t a = 0; a < strides.size(); ++a) {
    if (strides[a] == 0 && type.dims[a] > 1) return false;
  }
  return true;
}

double LayoutCost::ProducerCost(const Value& node, const StridedView& result) const {
  const bool scattered = node.op == Op::kResize && rules_.resizes_by_element;
  const double factor = scattered ? kScatteredFactor : kAgainstGrainFactor;
  const double penalty = factor * Bytes(result.type);
  if (PrefersChannelsLast(node)) return ChannelsInnermost(result.type) ? 0 : penalty;
  const int innermost = InnermostDim(result.type);
  if (innermost < 0) return 0;
  if (node.op == Op::kMatMul || node.op == Op::kAttention) {
    const auto last = static_cast<size_t>(node.type.rank() - 1);
    return innermost == node.type.rank() - 1 || node.type.dims[last] == 1 ? 0 : penalty;
  }
  double cost = 0;
  for (ValueId operand : node.operands) {
    if (operand == kNoValue) continue;
    const StridedView from = Locate(operand);
    if (!SameGrid(node, from.type)) continue;
    const int theirs = InnermostDim(from.type);
    if (theirs >= 0 && theirs != innermost) cost += kAgainstGrainFactor * Bytes(from.type);
  }
  return cost;
}

double LayoutCost::UsersCost(ValueId value, const StridedView& view) const {
  double cost = 0;
  if (is_output_[static_cast<size_t>(value)] && !Canonical(view.type).strides.empty()) {
    cost += kCopyFactor * Bytes(view.type);
  }
  for (ValueId user : users_[static_cast<size_t>(value)]) {
    const Value& node = graph_[user];
    if (IsViewOp(node)) {
      const std::optional<StridedView> through = ThroughView(node, view);
      cost += through ? UsersCost(user, *through)
                      : kCopyFactor * Bytes(view.type) + UsersCost(user, WholeOf(node.type));
      continue;
    }
    for (size_t slot = 0; slot < node.operands.size(); ++slot) {
      if (node.operands[slot] == value) cost += UserCost(node, slot, view);
    }
  }
  return cost;
}

double LayoutCost::UserCost(const Value& user, size_t slot, const StridedView& operand) const {
  const double bytes = Bytes(operand.type);
  if (PrefersChannelsLast(user)) {
    if (slot != 0 || ChannelsInnermost(operand.type)) return 0;
    if (user.op == Op::kConv && ReadsAnyLayout(graph_, user, rules_)) return 0;
    return kCopyFactor * bytes;
  }
  const int innermost = InnermostDim(operand.type);
  if (innermost < 0) return 0;
  const int row = RowDim(user, operand.type);
  if (row >= 0) {
    const bool along = innermost == row || operand.type.dims[static_cast<size_t>(row)] == 1;
    // A contraction packs its operands and takes either of the last two dimensions.
    const bool matrix = user.op == Op::kMatMul && innermost == row - 1;
    return along || matrix ? 0 : kAgainstGrainFactor * bytes;
  }
  if (!SameGrid(user, operand.type)) return 0;
  const ValueId user_id = static_cast<ValueId>(&user - &graph_[0]);
  const int theirs = InnermostDim(Stored(user_id));
  return theirs < 0 || theirs == innermost ? 0 : kAgainstGrainFactor * bytes;
}

TensorType LayoutCost::Stored(ValueId value) const {
  TensorType type = graph_[value].type;
  const std::vector<int>& order = orders_[static_cast<size_t>(value)];
  type.strides = order.empty() ? type.EffectiveStrides() : StridesOfOrder(type.dims, order);
  return type;
}

StridedView LayoutCost::Locate(ValueId value) const {
  const Value& node = graph_[value];
  if (!IsViewOp(node)) return {0, Stored(value)};
  std::optional<StridedView> view = ThroughView(node, Locate(node.operands[0]));
  return view ? *std::move(view) : WholeOf(node.type);
}

}  // namespace mlc::graph
