#include "compiler/graph/passes/gather_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// A table of more places is not worth its memory.
constexpr int64_t kMostRows = int64_t{1} << 18;
// Shorter rows are no more than their place in the table.
constexpr int64_t kLeastWidth = 8;
constexpr size_t kMostNodes = 64;

// Moves rows, the innermost dimension, as they are.
bool KeepsRows(const Graph& graph, const Value& node) {
  const int64_t last = node.type.rank() - 1;
  const bool moves = node.op == Op::kReshape || node.op == Op::kTranspose ||
                     node.op == Op::kSlice || node.op == Op::kConcat;
  if (!moves || last < 0) return false;
  if (node.op == Op::kTranspose && node.Ints("perm").back() != last) return false;
  if (node.op == Op::kConcat && node.Int("axis") == last) return false;
  return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId operand) {
    const Dims& dims = graph[operand].type.dims;
    return !dims.empty() && dims.back() == node.type.dims.back();
  });
}

// What becomes of the rows of one value on the way to `end`.
class RowWalk {
 public:
  RowWalk(const Graph& graph, ValueId end) : graph_(graph), end_(end) {}

  // True if all rows come from one value, and two or more kernels would move them.
  bool Trace() {
    const TensorType& type = graph_[end_].type;
    if (type.rank() == 0 || type.dims.back() < kLeastWidth || !Visit(end_)) return false;
    if (concats_ == 0 || concats_ + transposes_ < 2) return false;
    return RowsOf(source_) <= kMostRows && RowsOf(end_) <= kMostRows && RowsOf(end_) > 0;
  }

  // The rows of the source, in the shape of `end`.
  std::optional<ValueId> Gathered(Graph& graph) const {
    const std::optional<std::vector<int64_t>> rows = Table();
    if (!rows) return std::nullopt;
    const Dims dims = graph[end_].type.dims;
    const int64_t width = dims.back(), from = RowsOf(source_);
    const int64_t images = AreAlike(*rows, from, images_) ? images_ : 1;
    const auto count = static_cast<int64_t>(rows->size()) / images;
    Dims flat = {from / images, width};
    if (images > 1) flat.insert(flat.begin(), images);
    Value gather;
    gather.op = Op::kGather;
    gather.operands = {AddReshape(graph, source_, flat), AddTable(graph, *rows, count)};
    gather.attrs["axis"] = int64_t{images > 1};
    gather.name = graph[end_].name;
    return AddReshape(graph, AddNode(graph, std::move(gather)), dims);
  }

 private:
  int64_t RowsOf(ValueId id) const {
    const TensorType& type = graph_[id].type;
    return type.NumElements() / std::max<int64_t>(type.dims.back(), 1);
  }

  bool Visit(ValueId id) {
    if (std::find(nodes_.begin(), nodes_.end(), id) != nodes_.end()) return true;
    const Value& node = graph_[id];
    if (!KeepsRows(graph_, node)) {
      if (source_ == kNoValue && !IsConstant(graph_, id)) source_ = id;
      return source_ == id;
    }
    if (nodes_.size() + depth_ >= kMostNodes) return false;
    ++depth_;
    for (const ValueId operand : node.operands) {
      if (!Visit(operand)) return false;
    }
    --depth_;
    concats_ += node.op == Op::kConcat ? 1 : 0;
    transposes_ += node.op == Op::kTranspose ? 1 : 0;
    if (node.op == Op::kConcat && concats_ == 1) images_ = node.type.dims[0];
    nodes_.push_back(id);
    return true;
  }

  // The row of the source that each row is.
  std::optional<std::vector<int64_t>> Table() const {
    std::vector<int64_t> places(static_cast<size_t>(RowsOf(source_)));
    std::iota(places.begin(), places.end(), 0);
    std::map<ValueId, TensorDataRef> tables;
    tables[source_] = WriteInts(DType::kI64, Narrow(source_), places);
    for (const ValueId id : nodes_) {
      Value node = graph_[id];
      node.type = {DType::kI64, Narrow(id), {}};
      std::vector<TensorDataRef> operands;
      for (const ValueId operand : node.operands) operands.push_back(tables.at(operand));
      const Result<TensorDataRef> table = EvaluateNode(node, operands);
      if (!table.ok()) return std::nullopt;
      tables[id] = *table;
    }
    return ReadInts(*tables.at(end_));
  }

  // Dims of a value whose rows are single elements.
  Dims Narrow(ValueId id) const {
    Dims dims = graph_[id].type.dims;
    dims.back() = 1;
    return dims;
  }

  // Every image takes its own rows, in the same order.
  static bool AreAlike(const std::vector<int64_t>& rows, int64_t from, int64_t images) {
    const auto all = static_cast<int64_t>(rows.size());
    if (all % images != 0 || from % images != 0) return false;
    const auto count = static_cast<size_t>(all / images);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto image = static_cast<int64_t>(i / count);
      if (rows[i] != rows[i % count] + image * (from / images)) return false;
    }
    return true;
  }

  static ValueId AddTable(Graph& graph, const std::vector<int64_t>& rows, int64_t count) {
    Value table;
    table.op = Op::kConstant;
    table.type = {DType::kI64, {count}, {}};
    table.data = WriteInts(DType::kI64, {count}, std::span(rows).first(static_cast<size_t>(count)));
    return graph.Add(std::move(table));
  }

  const Graph& graph_;
  const ValueId end_;
  ValueId source_ = kNoValue;
  std::vector<ValueId> nodes_;  // operands first
  size_t depth_ = 0;
  int concats_ = 0, transposes_ = 0;
  int64_t images_ = 1;  // outermost dimension of the innermost concatenation
};

}  // namespace

Result<bool> GatherRows(Graph& graph) {
  std::map<ValueId, ValueId> gathered;  // by the end of a walk
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    Value moved = node;
    for (ValueId& operand : moved.operands) {
      if (operand == kNoValue || KeepsRows(out, node) || !KeepsRows(out, out[operand])) continue;
      const auto [found, inserted] = gathered.try_emplace(operand, operand);
      if (inserted) {
        RowWalk walk(out, operand);
        if (walk.Trace()) found->second = walk.Gathered(out).value_or(operand);
      }
      operand = found->second;
    }
    return out.Add(std::move(moved));
  });
}

}  // namespace mlc::graph
