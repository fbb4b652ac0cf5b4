#include "compiler/graph/physical/align_views.h"

#include <map>
#include <tuple>
#include <utility>

namespace mlc::graph {

namespace {

class Alignment {
 public:
  Alignment(const Graph& from, int64_t bytes) : from_(from), bytes_(bytes) {}

  Graph Run() {
    for (ValueId id = 0; id < from_.size(); ++id) {
      Value node = from_[id];
      for (ValueId& operand : node.operands) {
        if (operand != kNoValue) operand = ids_[static_cast<size_t>(operand)];
      }
      ids_.push_back(IsAstray(node) ? Moved(std::move(node)) : to_.Add(std::move(node)));
    }
    for (const ValueId output : from_.outputs()) {
      to_.outputs().push_back(ids_[static_cast<size_t>(output)]);
    }
    to_.output_names() = from_.output_names();
    to_.Compact();
    return std::move(to_);
  }

 private:
  bool IsAstray(const Value& node) const {
    return node.op == Op::kView && node.type.NumElements() > 0 &&
           node.Int("offset") * SizeOf(node.type.dtype) % bytes_ != 0;
  }

  ValueId Moved(Value view) {
    const ValueId root = view.operands[0];
    const auto key = std::make_tuple(root, view.Int("offset"), view.type.Extent());
    const auto [found, inserted] = ranges_.try_emplace(key, kNoValue);
    if (inserted) {
      found->second = to_[root].op == Op::kConstant ? ConstantRange(view) : CopiedRange(view);
    }
    if (to_[found->second].type == view.type) return found->second;
    view.operands = {found->second};
    view.attrs["offset"] = int64_t{0};
    return to_.Add(std::move(view));
  }

  ValueId ConstantRange(const Value& view) {
    const TensorData& data = *to_[view.operands[0]].data;
    const auto size = static_cast<size_t>(SizeOf(data.dtype));
    const auto begin = data.bytes.begin() + view.Int("offset") * static_cast<int64_t>(size);
    const int64_t extent = view.type.Extent();
    return to_.Constant(
        MakeTensorData(data.dtype, {extent},
                       std::vector<std::byte>(begin, begin + extent * static_cast<int64_t>(size))),
        view.name);
  }

  // Seen from the last place that a kernel may read from, and sliced by the kernel.
  ValueId CopiedRange(const Value& view) {
    const int64_t size = SizeOf(view.type.dtype);
    const int64_t offset = view.Int("offset");
    const int64_t shift = offset * size % bytes_ / size;
    const int64_t extent = view.type.Extent();
    Value around;
    around.op = Op::kView;
    around.operands = view.operands;
    around.attrs["offset"] = offset - shift;
    around.type = {view.type.dtype, {shift + extent}, {}};
    around.name = view.name;
    Value range;
    range.op = Op::kSlice;
    range.operands = {to_.Add(std::move(around))};
    range.attrs["starts"] = std::vector<int64_t>{shift};
    range.attrs["steps"] = std::vector<int64_t>{1};
    range.type = {view.type.dtype, {extent}, {}};
    range.name = view.name;
    return to_.Add(std::move(range));
  }

  const Graph& from_;
  const int64_t bytes_;
  Graph to_;
  std::vector<ValueId> ids_;
  std::map<std::tuple<ValueId, int64_t, int64_t>, ValueId> ranges_;  // by root, offset, extent
};

}  // namespace

Result<Graph> AlignViews(Graph graph, int64_t alignment) {
  if (alignment <= 1) return graph;
  return Alignment(graph, alignment).Run();
}

}  // namespace mlc::graph
