// The image_convolution family: convolutions of images (graph/image_convolution.h) on matrix units
// (mma.sync): f16 and bf16 as they are, f32 as tf32. A block reads its part of the image once, in
// whatever order it lies in memory and with what is computed from it fused, and keeps it in shared
// memory with zeros around it. Any pointwise epilogue.
//
// Knobs: across, down, over (warps of a block along columns and rows of results and along filters),
// rows (of results of a warp, 16 each), bn (filters of a block). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/image/image_plan.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class ImageConvolutionFamily final : public FamilyOf<ImageProblem> {
 public:
  std::string_view name() const override { return "image_convolution"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<ImageProblem> Find(const graph::Workload& workload,
                                   const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const ImageProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const ImageProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const ImageProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const ImageProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const ImageProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
