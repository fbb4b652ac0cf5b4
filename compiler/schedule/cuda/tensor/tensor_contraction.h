// The tensor_contraction family: matrix products (batched, strided, either operand transposed) and
// convolutions in NHWC as implicit matrix products, on the matrix units of a GPU (mma.sync), fed by
// a pipeline of asynchronous copies. f16 and bf16 as they are; f32 as tf32 where the workload
// admits it, else in three passes, summed so that the error is no larger than a plain f32 sum's; u8
// by i8. Sums are f32, of bytes i32. Constant columns are packed at compile time. Any pointwise
// epilogue.
//
// Knobs: bm, bn, bk (the tile of a block and its step along k), warps_m, warps_n, slices (warps of
// a block, slices share outputs and divide k), stages (steps in shared memory), split (blocks that
// divide k), raster (order of tiles), resident (1: registers for one block more on a
// multiprocessor). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class TensorContractionFamily final : public FamilyOf<GpuContraction> {
 public:
  std::string_view name() const override { return "tensor_contraction"; }
  int version() const override { return 4; }
  std::vector<std::string_view> layout_knobs() const override { return {"bn", "bk"}; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<GpuContraction> Find(const graph::Workload& workload,
                                     const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const GpuContraction& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const GpuContraction& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const GpuContraction& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const GpuContraction& problem,
                 const target::Target& target) const override;
  Config DefaultIn(const graph::Workload& workload, const GpuContraction& problem,
                   const target::Target& target, const Space& part) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const GpuContraction& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
