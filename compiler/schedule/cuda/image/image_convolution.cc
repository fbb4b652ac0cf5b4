#include "compiler/schedule/cuda/image/image_convolution.h"

#include "compiler/schedule/cuda/image/image_facts.h"
#include "compiler/schedule/cuda/image/image_lower.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule {

bool ImageConvolutionFamily::Accepts(const graph::Workload& workload,
                                     const target::Target& target) const {
  const auto* gpu = target.As<target::GpuTarget>();
  return gpu != nullptr && gpu->compute >= 80 && FindImage(workload).has_value();
}

std::optional<ImageProblem> ImageConvolutionFamily::Find(const graph::Workload& workload,
                                                         const target::Target&) const {
  return FindImage(workload);
}

Space ImageConvolutionFamily::MakeSpace(const graph::Workload&, const ImageProblem&,
                                        const target::Target&) const {
  Space space{std::string(name()), version(), {}};
  space.knobs.push_back({"across", {1, 2, 4, 5, 7, 8, 14}});
  space.knobs.push_back({"down", {1, 2, 4, 8}});
  space.knobs.push_back({"over", {1, 2, 3}});
  space.knobs.push_back({"rows", {1, 2, 4}});
  space.knobs.push_back({"bn", {32, 64, 96, 128}});
  return space;
}

RejectReason ImageConvolutionFamily::Check(const graph::Workload&, const ImageProblem& p,
                                           const target::Target& target,
                                           const Config& config) const {
  return CheckImagePlan(p, target, MakeImagePlan(p, config));
}

KernelFacts ImageConvolutionFamily::Facts(const graph::Workload& workload, const ImageProblem& p,
                                          const target::Target& target,
                                          const Config& config) const {
  return ImageFacts(workload, p, target, MakeImagePlan(p, config));
}

Config ImageConvolutionFamily::Default(const graph::Workload& workload, const ImageProblem& p,
                                       const target::Target& target) const {
  return gpu::Cheapest(MakeSpace(workload, p, target),
                       [&](const Config& config) -> std::optional<double> {
                         const ImagePlan plan = MakeImagePlan(p, config);
                         if (CheckImagePlan(p, target, plan) != RejectReason::kNone)
                           return std::nullopt;
                         return ImageCycles(p, target, plan);
                       });
}

Result<LoweredKernel> ImageConvolutionFamily::Lower(const graph::Workload& workload,
                                                    const ImageProblem& p,
                                                    const target::Target& target,
                                                    const Config& config) const {
  const ImagePlan plan = MakeImagePlan(p, config);
  return LowerImage(workload, p, plan, ResidentBlocks(p, target, plan));
}

}  // namespace mlc::schedule
