#include "compiler/schedule/cuda/families.h"

#include <vector>

#include "compiler/schedule/cuda/pointwise_family.h"

namespace mlc::schedule {

std::span<const Family* const> CudaFamilies() {
  static const GpuPointwiseFamily pointwise;
  static const std::vector<const Family*> families = {
      &pointwise,
  };
  return families;
}

}  // namespace mlc::schedule
