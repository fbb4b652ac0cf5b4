#include "compiler/graph/workload.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "compiler/graph/parse.h"

namespace mlc::graph {

namespace {

bool IsSource(Op op) { return op == Op::kInput || op == Op::kWeight || op == Op::kConstant; }

// Reached values: sources in order of first use, then the rest, operands before users.
std::vector<ValueId> CanonicalOrder(const Graph& graph) {
  std::vector<ValueId> sources, rest;
  std::vector<bool> seen(static_cast<size_t>(graph.size()), false);
  struct Frame {
    ValueId id;
    size_t next = 0;
  };
  std::vector<Frame> stack;
  for (const ValueId output : graph.outputs()) {
    if (!seen[static_cast<size_t>(output)]) stack.push_back({output});
    seen[static_cast<size_t>(output)] = true;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::vector<ValueId>& operands = graph[frame.id].operands;
      if (frame.next == operands.size()) {
        (IsSource(graph[frame.id].op) ? sources : rest).push_back(frame.id);
        stack.pop_back();
        continue;
      }
      const ValueId operand = operands[frame.next++];
      if (operand == kNoValue || seen[static_cast<size_t>(operand)]) continue;
      seen[static_cast<size_t>(operand)] = true;
      stack.push_back({operand});
    }
  }
  sources.insert(sources.end(), rest.begin(), rest.end());
  return sources;
}

Graph Renumber(const Graph& graph, std::vector<ValueId>& renumbering) {
  const std::vector<ValueId> order = CanonicalOrder(graph);
  renumbering.assign(static_cast<size_t>(graph.size()), kNoValue);
  for (size_t i = 0; i < order.size(); ++i) {
    renumbering[static_cast<size_t>(order[i])] = static_cast<ValueId>(i);
  }
  Graph result;
  for (const ValueId id : order) {
    Value value = graph[id];
    value.name.clear();
    // Dense strides have one spelling: none.
    if (value.op != Op::kView && value.type.strides == DenseStrides(value.type.dims)) {
      value.type.strides.clear();
    }
    for (ValueId& operand : value.operands) {
      if (operand != kNoValue) operand = renumbering[static_cast<size_t>(operand)];
    }
    result.Add(std::move(value));
  }
  for (const ValueId output : graph.outputs()) {
    result.outputs().push_back(renumbering[static_cast<size_t>(output)]);
  }
  return result;
}

int64_t DistinctBytes(const TensorType& type) {
  int64_t count = 1;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const bool broadcast = !type.strides.empty() && type.strides[i] == 0 && type.dims[i] > 0;
    count *= broadcast ? 1 : type.dims[i];
  }
  return count * SizeOf(type.dtype);
}

}  // namespace

Result<Workload> Workload::Create(Graph graph, double tolerance,
                                  std::vector<ValueId>* renumbering) {
  if (!(tolerance >= 0 && tolerance <= 1)) {
    return InvalidArgument("a workload's tolerance is between 0 and 1");
  }
  MLC_TRY(graph.Verify());
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].data || graph[id].Has("data")) {
      return InvalidArgument("value " + std::to_string(id) +
                             " carries tensor data; a workload names it weight()");
    }
  }
  Workload workload;
  std::vector<ValueId> local;
  workload.graph_ = Renumber(graph, renumbering != nullptr ? *renumbering : local);
  workload.tolerance_ = tolerance;
  std::string body = workload.graph_.ToText();
  workload.text_ = "workload v1 tolerance=" + FloatToText(tolerance) + body.substr(body.find(" {"));
  workload.digest_ = DigestOf(workload.text_);
  for (ValueId id = 0; id < workload.graph_.size(); ++id) {
    const Op op = workload.graph_[id].op;
    if (op == Op::kInput || op == Op::kWeight) workload.operands_.push_back(id);
  }
  return workload;
}

Result<Workload> Workload::Parse(std::string_view text) {
  Lexer lexer(text);
  MLC_TRY(lexer.Expect("workload"));
  MLC_TRY(lexer.Version(1));
  MLC_TRY(lexer.Expect("tolerance"));
  MLC_TRY(lexer.Expect("="));
  const double tolerance = MLC_TRY(lexer.Float());
  return Create(MLC_TRY(ParseGraphBody(lexer, kMaxWorkloadValues)), tolerance);
}

double Workload::MinBytes() const {
  double bytes = 0;
  for (const ValueId id : operands_) bytes += static_cast<double>(DistinctBytes(graph_[id].type));
  for (const ValueId id : outputs()) bytes += static_cast<double>(DistinctBytes(graph_[id].type));
  return bytes;
}

}  // namespace mlc::graph
