#include "compiler/schedule/cpu/depthwise/depthwise_pack.h"

#include <algorithm>

#include "compiler/schedule/cpu/depthwise/depthwise_bytes.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

ExprRef ActiveFrom(const DepthwisePlan& plan, const ExprRef& channel, int lanes) {
  if (plan.channels % plan.width() == 0) return nullptr;
  return ir::Max(Int(0), ir::Min(Int(lanes), Int(plan.channels) - channel));
}

namespace {

// Of one tap, at `at` in the weights, for the block's channels from `first` on, to [k][width]: what
// output channel u of a group multiplies with input channel u xor k.
void PackGroup(const ContractionProblem& p, const DepthwisePlan& plan, ir::BufferId source,
               const ExprRef& at, const ExprRef& first, ir::BufferId packed, const ExprRef& to,
               ir::KernelBuilder& b) {
  for (int k = 0; k < plan.group_width; ++k) {
    for (int u = 0; u < plan.group_width; ++u) {
      const ExprRef channel = first + u;
      ExprRef value = b.Load(source, at + channel * p.column_stride + (u ^ k) * p.column_k_stride,
                             1, 1, ActiveFrom(plan, channel, 1));
      if (p.column_dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
      b.Store(packed, to + (k * plan.width() + u), value);
    }
  }
}

// Weights as [block][taps][group width][width], zero beyond the last channel.
void PackTaps(const ContractionProblem& p, const DepthwisePlan& plan, ir::BufferId source,
              ir::BufferId packed, ir::KernelBuilder& b) {
  b.Parallel("block", plan.blocks, [&](const ExprRef& block) {
    b.For("kd", p.outer[0].taps, [&](const ExprRef& kd) {
      b.For("kh", p.outer[1].taps, [&](const ExprRef& kh) {
        b.For("kw", p.inner.taps, [&](const ExprRef& kw) {
          const ExprRef tap = (kd * p.outer[1].taps + kh) * p.inner.taps + kw;
          const ExprRef at =
              kd * p.outer[0].tap_stride + kh * p.outer[1].tap_stride + kw * p.inner.tap_stride;
          const ExprRef to = (block * p.Taps() + tap) * (plan.group_width * plan.width());
          if (plan.group_width > 1) {
            b.For("g", plan.width() / plan.group_width, [&](const ExprRef& g) {
              PackGroup(p, plan, source, at, block * plan.width() + g * int64_t{plan.group_width},
                        packed, to + g * int64_t{plan.group_width}, b);
            });
            return;
          }
          b.Unrolled("v", plan.vectors, [&](const ExprRef& v) {
            const ExprRef channel = block * plan.width() + v * int64_t{plan.lanes};
            ExprRef value = b.Load(source, at + channel * p.column_stride, plan.lanes,
                                   std::max<int64_t>(1, p.column_stride),
                                   ActiveFrom(plan, channel, plan.lanes));
            if (p.column_dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
            b.Store(packed, to + v * int64_t{plan.lanes}, value);
          });
        });
      });
    });
  });
}

}  // namespace

int64_t PackedFilterElements(const ContractionProblem& p, const DepthwisePlan& plan) {
  if (p.of_bytes) return FilterWords(p, plan);
  return plan.blocks * p.Taps() * plan.group_width * plan.width();
}

void EmitPackFilters(const ContractionProblem& p, const DepthwisePlan& plan, ir::BufferId source,
                     ir::BufferId packed, ir::KernelBuilder& b) {
  if (p.of_bytes) return EmitPackWords(p, plan, source, packed, b);
  PackTaps(p, plan, source, packed, b);
}

}  // namespace mlc::schedule
