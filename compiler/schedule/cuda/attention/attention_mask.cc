#include "compiler/schedule/cuda/attention/attention_mask.h"

#include <vector>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

constexpr int kMostAhead = 4;  // tiles of scores, of four registers each

graph::ValueId MaskOf(const graph::Workload& workload, const AttentionProblem& p) {
  return p.masked ? workload.graph()[p.anchor].operands[3] : graph::kNoValue;
}

}  // namespace

AttentionMask::AttentionMask(const graph::Workload& workload, ir::KernelBuilder& builder,
                             Fused& fused, const AttentionPlan& plan, ir::BufferId fold)
    : workload_(workload),
      builder_(builder),
      fused_(fused),
      plan_(plan),
      mask_(MaskOf(workload, plan.problem)),
      fold_(fold) {
  const int tiles = plan.key_block / 8;
  const bool one_step =
      plan.block_chunks() == 1 && plan.chunk == int64_t{plan.key_block} * plan.key_warps;
  if (mask_ != graph::kNoValue && one_step && tiles <= kMostAhead) {
    ahead_ = builder.Registers("masks", DType::kF32, 4, tiles);
  }
}

void AttentionMask::Begin(const ExprRef& batch, const ExprRef& head, const ExprRef& row) {
  batch_ = batch;
  head_ = head;
  row_ = row;
}

void AttentionMask::Read(const ExprRef& first_key) {
  for (int64_t n = 0; n < plan_.key_block / 8; ++n) {
    Load(builder_.Let("masked_key", first_key + n * 8));
    builder_.Set(ahead_, ir::Int(n), builder_.Load(fold_, ir::Int(0), 4));
  }
}

ExprRef AttentionMask::At(int64_t n, const ExprRef& key) {
  if (IsAhead()) return builder_.Get(ahead_, ir::Int(n));
  Load(key);
  return builder_.Load(fold_, ir::Int(0), 4);
}

// Into fold. Past the end any element will do.
void AttentionMask::Load(const ExprRef& key) {
  const AttentionProblem& p = plan_.problem;
  const graph::TensorType& type = workload_.graph()[mask_].type;
  const int rank = type.rank();
  const bool tail = p.counted || p.keys % plan_.chunk != 0;
  const bool pairs =
      rank > 0 && type.dims.back() % 2 == 0 && Fused::Vectorises(workload_, mask_, rank - 1, 2);
  const bool rows_end = p.queries % plan_.rows() != 0;
  for (int half = 0; half < 2; ++half) {
    const ExprRef row = row_ + 8 * half;
    const ExprRef q = rows_end ? builder_.Let("mq", ir::Min(row, ir::Int(p.queries - 1))) : row;
    for (int lane = 0; lane < (pairs ? 1 : 2); ++lane) {
      const int64_t last = p.keys - (pairs ? 2 : 1);
      const ExprRef k = tail ? builder_.Let("mk", ir::Min(key + lane, ir::Int(last))) : key + lane;
      const std::vector<ExprRef> all = {batch_, head_, q, k};
      Point point;
      point.at.assign(all.end() - rank, all.end());
      if (pairs) {
        point.dim = rank - 1;
        point.lanes = 2;
      }
      builder_.Store(fold_, ir::Int(half * 2 + lane), fused_.Emit(mask_, point));
    }
  }
}

}  // namespace mlc::schedule::gpu
