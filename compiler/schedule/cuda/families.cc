#include "compiler/schedule/cuda/families.h"

namespace mlc::schedule {

std::span<const Family* const> CudaFamilies() { return {}; }

}  // namespace mlc::schedule
