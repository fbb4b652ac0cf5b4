#include "compiler/schedule/cuda/attention/attention_plan.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

using graph::Graph;
using graph::Op;
using graph::ValueId;
using graph::Workload;

namespace {

// Value columns whose accumulators a thread holds.
constexpr int64_t kMaxSlice = 128;

int64_t Padded(int64_t size, int64_t step) { return CeilDiv(size, step) * step; }

}  // namespace

int64_t AttentionPlan::depth() const { return Padded(problem.depth, step()); }

int64_t AttentionPlan::slice() const {
  return std::min(kMaxSlice, Padded(problem.width, kQueryRows));
}

int64_t AttentionPlan::slices() const { return CeilDiv(problem.width, slice()); }

int64_t AttentionPlan::chunks() const { return CeilDiv(problem.keys, chunk); }

int64_t AttentionPlan::pitch(int64_t columns) const {
  return Padded(columns, 16) + (data == DType::kF32 ? 4 : 8);
}

int64_t AttentionPlan::blocks() const {
  return problem.Heads() * CeilDiv(problem.queries, rows()) * slices() * split;
}

int64_t AttentionPlan::block_bytes() const {
  const int64_t held = rows() * pitch(depth()) + stages * chunk * (pitch(depth()) + pitch(slice()));
  const int64_t shared = key_warps > 1 ? warps * kQueryRows * (slice() + 2) * 4 : 0;
  const int64_t joined = split > 1 ? rows() * (slice() + 2) * 4 : 0;
  return held * SizeOf(data) + shared + joined;
}

int64_t AttentionPlan::registers() const {
  const int64_t scores = key_block / 8 * 4;
  const int64_t output = slice() / 8 * 4;
  const int64_t queries = data == DType::kF32 ? 4 : depth() / 16 * 4;
  return 40 + scores + output + queries + (data == DType::kF32 ? (passes == 3 ? 64 : 32) : 0);
}

std::optional<AttentionPlan> FindGpuAttention(const Workload& workload) {
  const Graph& graph = workload.graph();
  ValueId anchor = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kAttention) anchor = id;
  }
  if (anchor == graph::kNoValue) return std::nullopt;
  const std::optional<AttentionProblem> problem = FindAttention(workload);
  if (!problem) return std::nullopt;
  AttentionPlan plan;
  plan.problem = *problem;
  const graph::Value& node = graph[problem->anchor];
  const auto type = [&](size_t operand) { return graph[node.operands[operand]].type.dtype; };
  const bool narrow = type(0) == DType::kF16 || type(0) == DType::kBF16;
  if (narrow && type(1) == type(0) && type(2) == type(0)) plan.data = type(0);
  if (node.Has("precision")) plan.passes = 1;
  if (narrow && type(1) != DType::kF32 && type(2) != DType::kF32) plan.passes = 1;
  return plan;
}

}  // namespace mlc::schedule::gpu
