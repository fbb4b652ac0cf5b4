#include "compiler/graph/passes/narrow.h"

#include <algorithm>
#include <optional>

#include "compiler/graph/passes/region.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

// So many steps of pointwise work are followed to what they go with: longer chains stay whole.
constexpr int kMaxChain = 64;

bool IsSource(const Value& node) {
  return node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant;
}

// Done where the operand is made: pointwise work, and views of it.
bool GoesWithOperand(const Value& node) {
  return node.op == Op::kPointwise || node.op == Op::kCast || node.op == Op::kReshape ||
         node.op == Op::kTranspose;
}

// What is read of each value, and what of it is computed then.
class Needs {
 public:
  explicit Needs(const Graph& graph) : graph_(graph), readers_(Count(graph)) {
    computed_.resize(static_cast<size_t>(graph.size()));
    std::vector<std::optional<Region>> read(static_cast<size_t>(graph.size()));
    for (const ValueId output : graph.outputs()) {
      read[static_cast<size_t>(output)] = WholeRegion(graph[output].type.dims);
    }
    // Readers come after what they read.
    for (ValueId id = graph.size() - 1; id >= 0; --id) {
      const Value& node = graph[id];
      const std::optional<Region>& wanted = read[static_cast<size_t>(id)];
      std::optional<Region>& computed = computed_[static_cast<size_t>(id)];
      if (IsSource(node)) {
        computed = WholeRegion(node.type.dims);
        continue;
      }
      if (!wanted) continue;
      computed = PartWorthComputing(id, *wanted);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if (node.operands[i] == kNoValue) continue;
        const Region part = OperandRegion(graph, node, i, *computed);
        std::optional<Region>& all = read[static_cast<size_t>(node.operands[i])];
        all = all ? Hull(*all, part) : part;
      }
    }
  }

  // Empty for values without readers.
  const std::optional<Region>& Computed(ValueId id) const {
    return computed_[static_cast<size_t>(id)];
  }

 private:
  static std::vector<int> Count(const Graph& graph) {
    std::vector<int> readers;
    for (const std::vector<ValueId>& users : graph.Users()) {
      readers.push_back(static_cast<int>(users.size()));
    }
    for (const ValueId output : graph.outputs()) ++readers[static_cast<size_t>(output)];
    return readers;
  }

  // If an operand that the work goes with cannot be cut to fit, a slice between the two would cost
  // more than it saves. Values with several readers are stored anyway, and a slice is a view then.
  Region PartWorthComputing(ValueId id, const Region& wanted, int followed = 0) const {
    const Value& node = graph_[id];
    Region part = ComputableRegion(graph_, node, wanted);
    const Region whole = WholeRegion(node.type.dims);
    if (!GoesWithOperand(node) || part == whole) return part;
    if (followed == kMaxChain) return whole;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const ValueId operand = node.operands[i];
      const bool is_stored =
          GoesWithOperand(graph_[operand]) && readers_[static_cast<size_t>(operand)] > 1;
      if (IsSource(graph_[operand]) || is_stored) continue;
      const Region needed = OperandRegion(graph_, node, i, part);
      if (PartWorthComputing(operand, needed, followed + 1) != needed) return whole;
    }
    return part;
  }

  const Graph& graph_;
  const std::vector<int> readers_;
  std::vector<std::optional<Region>> computed_;
};

std::vector<int64_t> SizesOf(const Region& region) {
  std::vector<int64_t> sizes;
  std::transform(region.begin(), region.end(), std::back_inserter(sizes),
                 [](const Range& range) { return range.size; });
  return sizes;
}

// Builds the graph of the parts.
class Builder {
 public:
  explicit Builder(const Graph& graph) : graph_(graph), needs_(graph) {}

  Graph Run() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      made_.push_back(kNoValue);
      if (!needs_.Computed(id)) continue;
      const ValueId made = Make(id, *needs_.Computed(id));
      if (out_[made].name.empty()) out_[made].name = graph_[id].name;
      made_.back() = made;
    }
    for (const ValueId output : graph_.outputs()) {
      out_.outputs().push_back(made_[static_cast<size_t>(output)]);
    }
    out_.output_names() = graph_.output_names();
    out_.Compact();
    return std::move(out_);
  }

 private:
  ValueId Make(ValueId id, const Region& region) {
    Value node = graph_[id];
    if (node.op == Op::kSlice) return MakeSlice(node, region);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i] == kNoValue) continue;
      const Region part = OperandRegion(graph_, graph_[id], i, region);
      node.operands[i] = PartOf(graph_[id].operands[i], part);
    }
    if (region == WholeRegion(node.type.dims)) return out_.Add(std::move(node));
    node.type.dims = SizesOf(region);
    node.type.strides.clear();
    return AddNode(out_, std::move(node));
  }

  ValueId MakeSlice(Value node, const Region& region) {
    const ValueId from = node.operands[0];
    std::vector<int64_t> starts = node.Ints("starts");
    for (size_t i = 0; i < starts.size(); ++i) {
      starts[i] += region[i].begin * node.Ints("steps")[i] - (*needs_.Computed(from))[i].begin;
    }
    return AddSlice(made_[static_cast<size_t>(from)], std::move(starts), node.Ints("steps"),
                    SizesOf(region));
  }

  // A part of what is computed of a value.
  ValueId PartOf(ValueId id, const Region& part) {
    const Region& computed = *needs_.Computed(id);
    if (part == computed) return made_[static_cast<size_t>(id)];
    std::vector<int64_t> starts;
    for (size_t i = 0; i < part.size(); ++i) {
      starts.push_back(part[i].begin - computed[i].begin);
    }
    return AddSlice(made_[static_cast<size_t>(id)], std::move(starts),
                    std::vector<int64_t>(part.size(), 1), SizesOf(part));
  }

  ValueId AddSlice(ValueId x, std::vector<int64_t> starts, const std::vector<int64_t>& steps,
                   std::vector<int64_t> sizes) {
    const bool all =
        sizes == out_[x].type.dims &&
        std::all_of(steps.begin(), steps.end(), [](int64_t step) { return step == 1; });
    if (all) return x;
    Value slice;
    slice.op = Op::kSlice;
    slice.operands = {x};
    slice.attrs["starts"] = std::move(starts);
    slice.attrs["steps"] = steps;
    slice.type.dtype = out_[x].type.dtype;
    slice.type.dims = std::move(sizes);
    return AddNode(out_, std::move(slice));
  }

  const Graph& graph_;
  const Needs needs_;
  Graph out_;
  std::vector<ValueId> made_;
};

}  // namespace

Result<bool> Narrow(Graph& graph) {
  Graph narrowed = Builder(graph).Run();
  if (SameStructure(graph, narrowed)) return false;
  graph = std::move(narrowed);
  return true;
}

}  // namespace mlc::graph
