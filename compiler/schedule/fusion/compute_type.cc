#include "compiler/schedule/fusion/fused_values.h"

namespace mlc::schedule {

DType ComputeType(DType storage) {
  return storage == DType::kF16 || storage == DType::kBF16 ? DType::kF32 : storage;
}

}  // namespace mlc::schedule
