#include "compiler/schedule/cpu/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/cpu/attention/attention_lower.h"
#include "compiler/schedule/cpu/chunk_balance.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Op;
using graph::Value;
using graph::ValueId;
using graph::Workload;

namespace {

constexpr int64_t kMinChains = 8;

AttentionKnobs KnobsOf(const Config& config) {
  AttentionKnobs knobs;
  knobs.rows = static_cast<int>(config["mr"]);
  knobs.key_vectors = static_cast<int>(config["nk"]);
  knobs.value_vectors = static_cast<int>(config["nv"]);
  knobs.splits = config["splits"];
  knobs.unroll = static_cast<int>(config["unroll"]);
  return knobs;
}

int64_t Padded(int64_t size, int64_t step) { return (size + step - 1) / step * step; }

bool FitsRegisters(const target::Target& target, int64_t rows, int64_t vectors) {
  return rows * vectors + vectors + 1 <= target.cpu().vector_registers();
}

RejectReason CheckKnobs(const AttentionProblem& p, const target::Target& target,
                        const AttentionKnobs& knobs) {
  if (!FitsRegisters(target, knobs.rows, knobs.key_vectors) ||
      !FitsRegisters(target, knobs.rows, knobs.value_vectors)) {
    return RejectReason::kRegisters;
  }
  if (knobs.rows > p.queries) return RejectReason::kTileExceedsShape;
  const int64_t reachable = std::min(kMinChains, p.queries);
  if (int64_t{knobs.rows} * knobs.key_vectors < reachable &&
      int64_t{knobs.rows} * knobs.value_vectors < reachable) {
    return RejectReason::kTooFewChains;
  }
  const int64_t blocks = (p.queries + knobs.rows - 1) / knobs.rows;
  if (knobs.splits > blocks) return RejectReason::kRedundant;
  const int64_t chunks = p.Heads() * knobs.splits;
  if (chunks < std::min<int64_t>(target.cpu().threads, p.Heads() * blocks) && knobs.splits < 8 &&
      blocks >= 8) {
    return RejectReason::kParallelism;
  }
  return RejectReason::kNone;
}

KernelFacts FactsOf(const Workload& workload, const AttentionProblem& p,
                    const target::Target& target, const AttentionKnobs& knobs) {
  const int64_t lanes = target.cpu().Lanes(DType::kF32);
  const int64_t keys = Padded(p.keys, lanes * knobs.key_vectors);
  const int64_t width = Padded(p.width, lanes * knobs.value_vectors);
  const double pairs = static_cast<double>(p.Heads() * p.queries);
  const double scores = pairs * static_cast<double>(keys);
  KernelFacts facts;
  facts.useful_flops = workload.Flops();
  facts.flops =
      2 * scores * static_cast<double>(p.depth) + 2 * pairs * static_cast<double>(p.keys * width);
  facts.lane_fill = p.Flops() / facts.flops;
  facts.accumulators = knobs.rows * std::min(knobs.key_vectors, knobs.value_vectors);
  const double rows = knobs.rows;
  const double mean = 0.5 * (knobs.key_vectors + knobs.value_vectors);
  facts.loads_per_fma = 1 / rows + 1 / mean;
  facts.inner_trip = static_cast<double>(p.depth) / knobs.unroll;
  facts.special_flops = scores * InfoOf(ScalarOp::kExp).flops;
  facts.l1_bytes = facts.flops / 2 * 4 * facts.loads_per_fma / static_cast<double>(lanes);
  const double panels = static_cast<double>(keys * p.depth + p.keys * width) * 4;
  const double blocks = std::ceil(static_cast<double>(p.queries) / rows);
  facts.l1_set_bytes = rows * static_cast<double>(keys + p.depth) * 4 +
                       static_cast<double>(p.depth * lanes * knobs.key_vectors) * 4;
  facts.l2_set_bytes = panels + facts.l1_set_bytes;
  facts.l2_bytes = static_cast<double>(p.Heads()) * blocks * panels;
  facts.scratch_bytes = static_cast<double>(p.Heads() * knobs.splits) * panels * 2 + scores * 4 * 4;
  facts.l3_bytes = facts.dram_bytes = workload.MinBytes();
  facts.parallel_chunks = static_cast<double>(p.Heads() * knobs.splits);
  facts.imbalance = ChunkImbalance(facts.parallel_chunks, target.cpu().threads);
  facts.body_ops = rows * mean * knobs.unroll;
  return facts;
}

}  // namespace

double AttentionProblem::Flops() const {
  return 2.0 * static_cast<double>(Heads() * queries * keys) * static_cast<double>(depth + width);
}

std::optional<AttentionProblem> FindAttention(const Workload& workload) {
  const graph::Graph& graph = workload.graph();
  ValueId anchor = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kAttention) continue;
    if (anchor != graph::kNoValue) return std::nullopt;
    anchor = id;
  }
  if (anchor == graph::kNoValue) return std::nullopt;
  const Value& node = graph[anchor];
  if (node.type.NumElements() == 0) return std::nullopt;
  const ValueId count =
      node.operands.size() > kAttentionKeys ? node.operands[kAttentionKeys] : graph::kNoValue;
  if (count != graph::kNoValue && !Fused::Covers(workload, count, {})) return std::nullopt;
  for (ValueId operand : node.operands) {
    if (operand == graph::kNoValue || operand == count) continue;
    const DType dtype = ComputeType(graph[operand].type.dtype);
    if (dtype != DType::kF32 || !Fused::Covers(workload, operand, {})) return std::nullopt;
  }
  const ValueId anchors[] = {anchor};
  for (ValueId output : workload.outputs()) {
    if (graph[output].type.dims != node.type.dims) return std::nullopt;
    if (!Fused::Vectorises(workload, output, 3, 16, anchors)) return std::nullopt;
  }
  const std::vector<int64_t>& q = graph[node.operands[0]].type.dims;
  const std::vector<int64_t>& v = graph[node.operands[2]].type.dims;
  AttentionProblem problem{anchor, q[0], q[1], q[2], v[2], q[3], v[3], node.Float("scale"), false};
  if (problem.keys == 0 || problem.depth == 0) return std::nullopt;
  problem.counted = count != graph::kNoValue;
  problem.masked = node.operands.size() > 3 && node.operands[3] != graph::kNoValue;
  if (problem.masked) {
    const ValueId mask = node.operands[3];
    const int rank = graph[mask].type.rank();
    if (rank > 0 && !Fused::Vectorises(workload, mask, rank - 1, 16)) return std::nullopt;
  }
  return problem;
}

bool AttentionFamily::Accepts(const Workload& workload, const target::Target& target) const {
  if (target.As<target::CpuTarget>() == nullptr) return false;
  return FindAttention(workload).has_value();
}

std::optional<AttentionProblem> AttentionFamily::Find(const Workload& workload,
                                                      const target::Target&) const {
  return FindAttention(workload);
}

Space AttentionFamily::MakeSpace(const Workload&, const AttentionProblem& p,
                                 const target::Target& target) const {
  const int64_t lanes = target.cpu().Lanes(DType::kF32);
  const auto up_to = [](std::vector<int64_t> values, int64_t limit) {
    std::erase_if(values, [&](int64_t v) { return v > limit && v != 1; });
    return values;
  };
  Space space{"attention", version(), {}};
  space.knobs.push_back({"mr", up_to({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}, p.queries)});
  space.knobs.push_back({"nk", up_to({1, 2, 3, 4}, Padded(p.keys, lanes) / lanes)});
  space.knobs.push_back({"nv", up_to({1, 2, 3, 4}, Padded(p.width, lanes) / lanes)});
  space.knobs.push_back({"splits", up_to({1, 2, 3, 4, 6, 8}, p.queries)});
  space.knobs.push_back({"unroll", up_to({1, 2, 4}, std::min(p.depth, p.keys))});
  return space;
}

RejectReason AttentionFamily::Check(const Workload&, const AttentionProblem& p,
                                    const target::Target& target, const Config& config) const {
  return CheckKnobs(p, target, KnobsOf(config));
}

KernelFacts AttentionFamily::Facts(const Workload& workload, const AttentionProblem& p,
                                   const target::Target& target, const Config& config) const {
  return FactsOf(workload, p, target, KnobsOf(config));
}

Config AttentionFamily::Default(const Workload& workload, const AttentionProblem& p,
                                const target::Target& target) const {
  const Space space = MakeSpace(workload, p, target);
  const bool wide = target.cpu().vector_registers() >= 32;
  // Tiles that fill the registers; fewer rows where the shape or the registers ask for it.
  const int64_t vectors = 2;
  Config best = space.At(0);
  double score = -1;
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    const Config config = space.At(rank);
    if (config["unroll"] > 2 || config["splits"] > 2) continue;
    const AttentionKnobs knobs = KnobsOf(config);
    if (CheckKnobs(p, target, knobs) != RejectReason::kNone) continue;
    const KernelFacts facts = FactsOf(workload, p, target, knobs);
    double value = facts.lane_fill / facts.imbalance;
    value *= std::min(1.0, facts.accumulators / (wide ? 14 : 8));
    value /= 1 + 0.1 * static_cast<double>(config["splits"] - 1);
    value *= config["nk"] == vectors && config["nv"] == vectors ? 1.05 : 1;
    value *= 1 - 0.2 * facts.loads_per_fma;
    if (value > score) {
      score = value;
      best = config;
    }
  }
  if (score < 0) {
    for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
      const Config config = space.At(rank);
      if (CheckKnobs(p, target, KnobsOf(config)) == RejectReason::kNone) return config;
    }
  }
  return best;
}

Result<LoweredKernel> AttentionFamily::Lower(const Workload& workload, const AttentionProblem& p,
                                             const target::Target& target,
                                             const Config& config) const {
  return LowerAttention(workload, target, p, KnobsOf(config));
}

}  // namespace mlc::schedule
