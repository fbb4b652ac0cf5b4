#include "compiler/graph/passes/causal_masks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/shape.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A number that low hides a key altogether: no difference of scores makes up for it.
constexpr double kHides = -3e4;
// Masks of 8,192 tokens in single precision, with room for one operand of the same size.
constexpr int64_t kMaxBytes = int64_t{256} << 20;

// The keys from the first one that the first query does not see: each further query sees one more.
std::optional<int64_t> FirstHidden(const TensorData& mask, int64_t queries, int64_t keys) {
  const size_t rank = mask.dims.size();
  if (keys < 1 || rank < 2 || mask.dims[rank - 2] != queries || mask.dims[rank - 1] != keys) {
    return std::nullopt;
  }
  const auto row_bytes = static_cast<size_t>(keys * SizeOf(mask.dtype));
  const auto rows = static_cast<int64_t>(mask.bytes.size() / row_bytes);
  int64_t first = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const TensorData row{
        mask.dtype, {keys}, mask.bytes.subspan(static_cast<size_t>(i) * row_bytes, row_bytes), {}};
    const std::vector<double> values = ReadDoubles(row);
    const auto hidden =
        std::find_if(values.begin(), values.end(), [](double value) { return value != 0; });
    const int64_t seen = hidden - values.begin();
    if (i == 0) first = seen;
    const bool rest = std::all_of(hidden, values.end(), [](double v) { return v <= kHides; });
    if (!rest || seen != std::min(keys, first + i % queries)) return std::nullopt;
  }
  // Without anything to hide, there is nothing to compute.
  if (first < 1 || first >= keys) return std::nullopt;
  return first;
}

class Masks {
 public:
  explicit Masks(const Graph& graph) : graph_(graph) {}

  std::optional<int64_t> FirstHiddenOf(ValueId mask, int64_t queries, int64_t keys) {
    const auto [found, inserted] = first_.try_emplace({mask, queries, keys}, std::nullopt);
    if (inserted && graph_[mask].type.rank() >= 2) {
      const TensorDataRef data = Known(mask);
      if (data != nullptr) found->second = FirstHidden(*data, queries, keys);
    }
    return found->second;
  }

 private:
  // What broadcasts to the value, if it is known. Exporters repeat masks for batches and heads, and
  // folding leaves such repetitions alone.
  TensorDataRef Known(ValueId id) {
    const auto [found, inserted] = known_.try_emplace(id, nullptr);
    if (inserted) found->second = Compute(graph_[id]);
    return found->second;
  }

  TensorDataRef Compute(const Value& node) {
    switch (node.op) {
      case Op::kConstant:
        return ConstantOf(node);
      case Op::kExpand:
        return Known(node.operands[0]);
      case Op::kReshape:
        return Reshaped(node);
      case Op::kCast:
      case Op::kPointwise:
        return Evaluated(node);
      default:
        return nullptr;
    }
  }

  static TensorDataRef ConstantOf(const Value& node) {
    if (node.Has("data") || BytesOf(node.type) > kMaxBytes) return nullptr;
    if (!node.Has("value")) return ConstantData(node);
    const double number[] = {node.Float("value")};
    return WriteDoubles(node.type.dtype, {}, number);
  }

  // Dimensions of one element come and go.
  TensorDataRef Reshaped(const Value& node) {
    const TensorDataRef data = Known(node.operands[0]);
    if (data == nullptr) return nullptr;
    Dims from = data->dims, to = node.type.dims;
    std::erase(from, 1);
    std::erase(to, 1);
    if (from.size() > 2 || from != to) return nullptr;
    TensorData reshaped = *data;
    reshaped.dims = node.type.dims;
    return std::make_shared<TensorData>(std::move(reshaped));
  }

  TensorDataRef Evaluated(Value node) {
    std::vector<TensorDataRef> operands;
    node.type.dims.clear();
    for (const ValueId operand : node.operands) {
      operands.push_back(Known(operand));
      if (operands.back() == nullptr) return nullptr;
      const Result<Dims> joined = BroadcastDims(node.type.dims, operands.back()->dims);
      if (!joined.ok()) return nullptr;
      node.type.dims = *joined;
    }
    if (BytesOf(node.type) > kMaxBytes) return nullptr;
    const Result<TensorDataRef> result = EvaluateNode(node, operands);
    return result.ok() ? *result : nullptr;
  }

  const Graph& graph_;
  std::map<ValueId, TensorDataRef> known_;
  std::map<std::tuple<ValueId, int64_t, int64_t>, std::optional<int64_t>> first_;
};

// Its own for each attention, so that it is a part of that task.
ValueId AddMask(Graph& graph, DType dtype, int64_t queries, int64_t keys, int64_t first) {
  Value number;
  number.op = Op::kConstant;
  number.type = {dtype, {queries, keys}, {}};
  number.attrs["value"] = -kInfinity;
  Value mask;
  mask.op = Op::kTrilu;
  mask.operands = {graph.Add(std::move(number))};
  mask.attrs["k"] = first;
  mask.attrs["upper"] = int64_t{1};
  return AddNode(graph, std::move(mask));
}

}  // namespace

Result<bool> ComputeCausalMasks(Graph& graph) {
  std::map<ValueId, int64_t> first_hidden;
  Masks masks(graph);
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kAttention || node.operands.size() < 4 || node.operands[3] == kNoValue) {
      continue;
    }
    const auto length = [&](size_t operand) { return graph[node.operands[operand]].type.dims[2]; };
    const std::optional<int64_t> first =
        masks.FirstHiddenOf(node.operands[3], length(0), length(1));
    if (first) first_hidden[id] = *first;
  }
  if (first_hidden.empty()) return false;
  ValueId id = 0;
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    const auto found = first_hidden.find(id++);
    Graph& out = rewriter.out();
    if (found == first_hidden.end()) return out.Add(node);
    Value attention = node;
    const TensorType q = out[node.operands[0]].type;
    const int64_t keys = out[node.operands[1]].type.dims[2];
    attention.operands[3] = AddMask(out, q.dtype, q.dims[2], keys, found->second);
    return out.Add(std::move(attention));
  });
}

}  // namespace mlc::graph
