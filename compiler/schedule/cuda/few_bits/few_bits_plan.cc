#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "compiler/ir/types.h"
#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"

namespace mlc::schedule {

namespace {

// Whether zero and bias together are exact in the type.
bool HoldsBias(const PackedColumns& packed, DType dtype, int bias) {
  if (dtype == DType::kF16) return true;  // up to 2048
  return packed.zeros < 0 && packed.zero + bias <= 256;
}

}  // namespace

FewBitsForm FormOf(const GpuContraction& g) {
  const PackedColumns& packed = g.p.packed;
  FewBitsForm form;
  if (IsFloat8(packed.codes_dtype)) form.codes = packed.codes_dtype;
  form.bits = std::max(4, packed.bits);
  form.ends = g.p.end_count;
  form.tiles = form.ends * CeilDiv(g.n, FewBitsForm::kColumns);
  form.chunks = CeilDiv(g.k, form.chunk());
  // One block for all of k ends where the last chunk does.
  form.block = packed.blocks == 1 ? form.chunks * form.chunk() : packed.block;
  form.blocks = CeilDiv(form.chunks * form.chunk(), form.block);
  form.zeros = packed.zeros >= 0;
  form.zero = packed.zero;
  if (form.is_float8()) return form;
  const int bias = ir::BiasOfCodes(g.p.column_dtype, form.bits);
  if (HoldsBias(packed, g.p.column_dtype, bias)) form.bias = bias;
  return form;
}

FewBitsPlan MakeFewBitsPlan(const GpuContraction& g, const Config& config) {
  const FewBitsForm form = FormOf(g);
  FewBitsPlan plan;
  plan.warps = static_cast<int>(config["warps"]);
  plan.slices = static_cast<int>(config["slices"]);
  plan.unroll = static_cast<int>(config["unroll"]);
  plan.turns = static_cast<int>(config["turns"]);
  const KSplit split = SplitOf(config["split"]);
  plan.split = split.parts;
  plan.cluster = split.cluster;
  plan.rows = g.m;
  plan.chunk = form.chunk();
  plan.scales = form.chunk_scales();
  plan.zeros = form.zeros;
  plan.ends = form.ends;
  plan.normed = NormedRows::Registers(g, plan.threads());
  plan.normed_bytes = NormedRows::Bytes(g, plan.threads());
  plan.tiles = plan.slices > plan.warps || plan.groups() % plan.ends != 0
                   ? 1
                   : CeilDiv(g.n, int64_t{plan.outputs()});
  plan.split_chunks = CeilDiv(form.chunks, int64_t{plan.split});
  plan.last_chunks = form.chunks - (plan.split - 1) * plan.split_chunks;
  return plan;
}

double BlocksPerSm(const target::Target& target, const FewBitsPlan& plan) {
  const double memory = std::floor(static_cast<double>(target.gpu().sm_bytes) /
                                   static_cast<double>(plan.block_bytes() + 1024));
  const double registers = std::floor(65536.0 / (plan.registers() * plan.threads()));
  return std::max(1.0, std::min({memory, registers, 2048.0 / plan.threads(), 32.0}));
}

RejectReason CheckFewBitsPlan(const GpuContraction& g, const target::Target& target,
                              const FewBitsPlan& plan) {
  if (plan.slices > plan.warps || plan.groups() % plan.ends != 0) return RejectReason::kRedundant;
  if (plan.last_chunks < 1 || plan.slices > plan.split_chunks) return RejectReason::kRedundant;
  // The next smaller one holds all chunks.
  const auto unroll = std::ranges::find(kUnrollsOfFewBits, plan.unroll);
  if (unroll != kUnrollsOfFewBits.begin() && *std::prev(unroll) >= plan.steps()) {
    return RejectReason::kRedundant;
  }
  if (plan.groups() > plan.ends && plan.outputs() / 2 >= g.n)
    return RejectReason::kTileExceedsShape;
  if (plan.registers() * plan.threads() > 65536 || plan.normed > NormedRows::kMostRegisters) {
    return RejectReason::kRegisters;
  }
  if (plan.block_bytes() > target.gpu().block_bytes) return RejectReason::kCache;
  if (plan.turns > 1 && (plan.split > 1 || plan.turns > plan.tiles))
    return RejectReason::kRedundant;
  if (plan.split > 1) {
    if (plan.blocks() > 16 * target.gpu().sms) return RejectReason::kParallelism;
    // Clusters that wait for others to end take as long again.
    if (plan.cluster && static_cast<double>(plan.blocks()) >
                            UsableSms(target, plan.k_split()) * BlocksPerSm(target, plan)) {
      return RejectReason::kParallelism;
    }
  }
  return RejectReason::kNone;
}

}  // namespace mlc::schedule
