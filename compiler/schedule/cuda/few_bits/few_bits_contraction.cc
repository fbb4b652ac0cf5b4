#include "compiler/schedule/cuda/few_bits/few_bits_contraction.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/cuda/few_bits/few_bits_estimate.h"
#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"
#include "compiler/schedule/problem/contraction_space.h"

namespace mlc::schedule {

namespace {

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

}  // namespace

bool FewBitsContractionFamily::Accepts(const graph::Workload& workload,
                                       const target::Target& target) const {
  if (target.As<target::GpuTarget>() == nullptr) return false;
  const std::optional<GpuContraction> g = FindGpuContractionOfFewBits(workload);
  if (!g || g->m > kMaxRowsOfFewBits || !IsNarrow(g->p.column_dtype)) return false;
  const PackedColumns& packed = g->p.packed;
  const DType dtype = g->p.column_dtype;
  if (g->p.row_dtype != dtype || packed.scales_dtype != dtype) return false;
  if (packed.zeros >= 0 && packed.zeros_dtype != DType::kU8) return false;
  if (packed.blocks > 1 && packed.block % 8 != 0) return false;
  if (!NormedRows::Fits(*g)) return false;
  // The rows of a block's part of k must fit into its memory.
  return 2 * g->m * (CeilDiv(g->k, int64_t{16}) + 1024) <= target.gpu().block_bytes;
}

std::optional<GpuContraction> FewBitsContractionFamily::Find(const graph::Workload& workload,
                                                             const target::Target&) const {
  return FindGpuContractionOfFewBits(workload);
}

Space FewBitsContractionFamily::MakeSpace(const graph::Workload&, const GpuContraction& g,
                                          const target::Target& target) const {
  const int64_t chunks = FormOf(g).chunks;
  Space space{"few_bits_contraction", version(), {}};
  space.knobs.push_back({"warps", {1, 2, 4, 8, 16}});
  space.knobs.push_back({"slices", UpTo({1, 2, 4, 8, 16}, chunks)});
  space.knobs.push_back({"unroll", {kUnrollsOfFewBits.begin(), kUnrollsOfFewBits.end()}});
  std::vector<int64_t> splits = UpTo({1, 2, 4, 8, 16}, chunks);
  AddClusters(target, chunks, splits);
  space.knobs.push_back({"split", splits});
  space.knobs.push_back({"turns", {1, 2, 3, 4, 6, 8}});
  return space;
}

RejectReason FewBitsContractionFamily::Check(const graph::Workload&, const GpuContraction& g,
                                             const target::Target& target,
                                             const Config& config) const {
  return CheckFewBitsPlan(g, target, MakeFewBitsPlan(g, config));
}

KernelFacts FewBitsContractionFamily::Facts(const graph::Workload& workload,
                                            const GpuContraction& g, const target::Target& target,
                                            const Config& config) const {
  const FewBitsPlan plan = MakeFewBitsPlan(g, config);
  const FewBitsForm form = FormOf(g);
  KernelFacts facts;
  const double blocks = static_cast<double>(plan.blocks());
  const double sms = UsableSms(target, plan.k_split());
  const double chunks =
      static_cast<double>(plan.tiles) * plan.groups() * static_cast<double>(form.chunks);
  const double rows = static_cast<double>(plan.rows);
  facts.useful_flops = workload.Flops();
  const double product = 2.0 * 8 * plan.row_tiles() * chunks * FewBitsForm::kColumns *
                         static_cast<double>(form.chunk());
  facts.flops = product + std::max(0.0, facts.useful_flops - g.p.Flops());
  facts.tensor_flops = product;
  facts.lane_fill = g.p.Flops() / product;
  facts.accumulators = 2.0 * plan.row_tiles();
  facts.loads_per_fma = 1.0 / plan.row_tiles();
  facts.inner_trip = static_cast<double>(plan.split_chunks) / plan.slices / plan.unroll;
  facts.pipeline_steps = facts.inner_trip * plan.turns;
  facts.l1_bytes = chunks * static_cast<double>(form.chunk()) * 2 * rows;
  facts.l2_bytes =
      chunks * form.chunk_bytes() + blocks * rows * static_cast<double>(plan.row_elements()) * 2;
  facts.dram_bytes = workload.MinBytes();
  facts.l1_set_bytes = rows * static_cast<double>(plan.row_elements()) * 2;
  facts.l2_set_bytes = workload.MinBytes();
  CountSplit(plan.k_split(), blocks * rows * plan.width() * 4, facts);
  facts.parallel_chunks = blocks;
  facts.imbalance = std::max(1.0, std::ceil(blocks / sms) / (blocks / sms));
  facts.body_ops = 16.0 * plan.unroll * form.fragments();
  facts.blocks = blocks;
  facts.block_threads = plan.threads();
  facts.block_bytes = static_cast<double>(plan.block_bytes());
  facts.registers = plan.registers();
  const double at_once = BlocksPerSm(target, plan);
  facts.waves = blocks / (sms * at_once);
  facts.warp_parallelism = std::min(at_once, blocks / sms) * plan.warps;
  return facts;
}

Config FewBitsContractionFamily::Default(const graph::Workload& workload, const GpuContraction& g,
                                         const target::Target& target) const {
  const auto cycles = [&](const Config& config) -> std::optional<double> {
    const FewBitsPlan plan = MakeFewBitsPlan(g, config);
    if (plan.cluster || CheckFewBitsPlan(g, target, plan) != RejectReason::kNone) {
      return std::nullopt;
    }
    return FewBitsCycles(g, target, plan);
  };
  return gpu::Cheapest(MakeSpace(workload, g, target), cycles);
}

Result<LoweredKernel> FewBitsContractionFamily::Lower(const graph::Workload& workload,
                                                      const GpuContraction& g,
                                                      const target::Target&,
                                                      const Config& config) const {
  return LowerFewBits(workload, g, MakeFewBitsPlan(g, config));
}

}  // namespace mlc::schedule
