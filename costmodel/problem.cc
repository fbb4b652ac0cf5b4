#include "costmodel/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::costmodel {
namespace {

bool IsAnchor(graph::Op op) {
  using graph::Op;
  switch (op) {
    case Op::kMatMul:
    case Op::kConv:
    case Op::kAttention:
    case Op::kPool:
    case Op::kReduce:
    case Op::kArg:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
      return true;
    default:
      return false;
  }
}

}  // namespace

Problem DescribeProblem(const graph::Workload& workload) {
  Problem problem;
  problem.flops = std::max(1.0, workload.Flops());
  problem.min_bytes = std::max(1.0, workload.MinBytes());
  problem.operands = static_cast<double>(workload.operands().size());
  const graph::Graph& graph = workload.graph();
  graph::ValueId shaped = workload.outputs().empty() ? graph::kNoValue : workload.outputs()[0];
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == graph::Op::kPointwise) ++problem.fused;
    if (!IsAnchor(graph[id].op)) continue;
    problem.anchor = graph[id].op;
    shaped = graph[id].operands.empty() ? id : graph[id].operands[0];
  }
  if (shaped != graph::kNoValue) problem.dtype = graph[shaped].type.dtype;
  auto p = schedule::FindContractionOfAnyForm(workload);
  if (!p) p = schedule::FindContractionOrByteFilters(workload);
  if (!p) p = schedule::FindContractionOrFloat8(workload);
  if (p) {
    problem.batches = static_cast<double>(p->Batches());
    problem.rows = static_cast<double>(p->Rows());
    problem.columns = static_cast<double>(p->columns);
    problem.depth = static_cast<double>(p->depth);
    problem.taps = static_cast<double>(p->Taps());
    problem.stride = static_cast<double>(p->inner.stride);
    return problem;
  }
  if (shaped == graph::kNoValue) return problem;
  const std::vector<int64_t>& dims = graph[shaped].type.dims;
  const auto elements = static_cast<double>(std::max<int64_t>(1, graph[shaped].type.NumElements()));
  problem.columns = dims.empty() ? 1 : static_cast<double>(std::max<int64_t>(1, dims.back()));
  problem.rows = elements / problem.columns;
  return problem;
}

double Distance(const Problem& a, const Problem& b) {
  if (a.anchor != b.anchor || a.dtype != b.dtype || a.taps != b.taps || a.stride != b.stride) {
    return std::numeric_limits<double>::infinity();
  }
  const auto gap = [](double x, double y) { return std::abs(std::log2(x / y)); };
  // Batches change least about which kernel is best.
  return 0.3 * gap(a.batches, b.batches) + gap(a.rows, b.rows) + gap(a.columns, b.columns) +
         gap(a.depth, b.depth) + 0.25 * std::abs(a.fused - b.fused);
}

}  // namespace mlc::costmodel
