#include "compiler/graph/physical/lower_views.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/graph/physical/layout.h"
#include "compiler/graph/physical/layout_cost.h"
#include "compiler/graph/physical/strided_data.h"
#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

// A batch, channels, and two more dimensions.
constexpr int kImageRank = 4;

class ViewLowering {
 public:
  ViewLowering(const Graph& from, const PlaceRules& rules)
      : from_(from),
        rules_(rules),
        orders_(static_cast<size_t>(from.size())),
        cost_(from, orders_, rules) {}

  Result<Graph> Run() {
    for (ValueId id = 0; id < from_.size(); ++id) {
      ids_.push_back(IsViewOp(from_[id]) ? MLC_TRY(LowerView(id)) : LowerNode(from_[id]));
    }
    for (ValueId output : from_.outputs()) {
      to_.outputs().push_back(LowerOutput(ids_[static_cast<size_t>(output)]));
    }
    to_.output_names() = from_.output_names();
    to_.Compact();
    return std::move(to_);
  }

 private:
  ValueId Mapped(ValueId id) const {
    return id == kNoValue ? kNoValue : ids_[static_cast<size_t>(id)];
  }

  StridedView Seen(ValueId id) const {
    StridedView view = WholeOf(to_[id].type);
    view.offset = OffsetOf(to_, id);
    return view;
  }

  ValueId LowerNode(const Value& original) {
    Value node = original;
    for (ValueId& operand : node.operands) operand = Mapped(operand);
    if (node.op == Op::kConv && !ReadsAnyLayout(from_, original, rules_)) {
      node.operands[0] = ChannelsInnermost(node.operands[0]);
    }
    return to_.Add(std::move(node));
  }

  ValueId ChannelsInnermost(ValueId id) {
    const TensorType& type = to_[id].type;
    const int innermost = InnermostDim(type);
    if (innermost == 1 || innermost == -1) return id;
    return Copied(id, ChannelsLastStrides(type.dims));
  }

  Result<ValueId> LowerView(ValueId id) {
    const Value& node = from_[id];
    ValueId operand = Mapped(node.operands[0]);
    const Value& source = to_[operand];
    if (source.op == Op::kConstant && !source.data) {
      Value splat = source;
      splat.type = {node.type.dtype, node.type.dims, {}};
      return to_.Add(std::move(splat));
    }
    std::optional<StridedView> view = ThroughView(node, Seen(operand));
    if (!view) {
      operand = MLC_TRY(Packed(operand, id));
      view = ThroughView(node, Seen(operand));
    }
    const TensorType type = Canonical(view->type);
    const ValueId root = RootOf(to_, operand);
    if (view->offset == 0 && type == to_[root].type) return root;
    Value lowered;
    lowered.op = Op::kView;
    lowered.operands = {root};
    lowered.attrs["offset"] = view->offset;
    lowered.type = type;
    lowered.name = node.name;
    return to_.Add(std::move(lowered));
  }

  // Strides of an operand under which the reshape is an image with its channels innermost; none
  // if that cannot be or its users would pay more than for row-major order.
  std::vector<int64_t> StridesForImage(ValueId reshape, const TensorType& operand) const {
    const Value& node = from_[reshape];
    if (node.op != Op::kReshape || node.type.rank() < kImageRank) return {};
    StridedView image = WholeOf(node.type);
    const double dense = cost_.OfSeen(reshape, image);
    image.type.strides = ChannelsLastStrides(node.type.dims);
    Value back;
    back.op = Op::kReshape;
    back.type = {operand.dtype, operand.dims, {}};
    const std::optional<StridedView> before = ThroughView(back, image);
    if (!before || cost_.OfSeen(reshape, image) >= dense) return {};
    return before->type.strides;
  }

  // The same values in an order in which the view of them, `reader`, is one.
  Result<ValueId> Packed(ValueId id, ValueId reader) {
    const ValueId root = RootOf(to_, id);
    if (to_[root].op != Op::kConstant) return Copied(id, StridesForImage(reader, to_[id].type));
    const Value& seen = to_[id];
    std::vector<std::byte> bytes = GatherStrided(
        to_[root].data->bytes.data() + OffsetOf(to_, id) * SizeOf(seen.type.dtype), seen.type);
    return to_.Constant(MakeTensorData(seen.type.dtype, seen.type.dims, std::move(bytes)),
                        seen.name);
  }

  ValueId Copied(ValueId id, std::vector<int64_t> strides) {
    Value copy;
    copy.op = Op::kCopy;
    copy.operands = {id};
    copy.type = {to_[id].type.dtype, to_[id].type.dims, std::move(strides)};
    copy.type = Canonical(copy.type);
    copy.name = to_[id].name;
    const auto key = std::make_pair(id, copy.type.ToText());
    const auto [found, inserted] = copies_.try_emplace(key, kNoValue);
    if (inserted) found->second = to_.Add(std::move(copy));
    return found->second;
  }

  // A kernel must write each output itself, row-major, from its first element on.
  ValueId LowerOutput(ValueId id) {
    const ValueId root = RootOf(to_, id);
    const bool whole = OffsetOf(to_, id) == 0 && to_[id].type.strides.empty() &&
                       to_[id].type.NumElements() == to_[root].type.NumElements();
    if (!IsSource(to_[root]) && whole && !taken_[root]) {
      taken_[root] = true;
      return id;
    }
    // Not shared with other copies: two outputs are two buffers.
    Value copy;
    copy.op = Op::kCopy;
    copy.operands = {id};
    copy.type = {to_[id].type.dtype, to_[id].type.dims, {}};
    copy.name = to_[id].name;
    const ValueId result = to_.Add(std::move(copy));
    taken_[result] = true;
    return result;
  }

  const Graph& from_;
  const PlaceRules rules_;
  const std::vector<std::vector<int>> orders_;  // none: the types of `from_` have strides
  const LayoutCost cost_;
  Graph to_;
  std::vector<ValueId> ids_;
  std::map<std::pair<ValueId, std::string>, ValueId> copies_;
  std::map<ValueId, bool> taken_;  // roots that are an output's buffer already
};

}  // namespace

// A pass takes its graph.  NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<Graph> LowerViews(Graph graph, const PlaceRules& rules) {
  return ViewLowering(graph, rules).Run();
}

}  // namespace mlc::graph
