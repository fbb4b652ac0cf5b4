#include "compiler/graph/image_convolution.h"

#include <algorithm>
#include <vector>

namespace mlc::graph {

namespace {

constexpr int64_t kMostChannels = 4;
// What bounds the shared memory of the smallest tile, on any GPU.
constexpr int64_t kLargestKernel = 11;
constexpr int64_t kLargestStride = 8;
constexpr int64_t kMostFilters = 256;
constexpr int64_t kVector = 8;  // results of a thread

bool AllAtMost(const std::vector<int64_t>& values, int64_t most) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v <= most; });
}

}  // namespace

bool IsImageConvolution(const Value& conv, const TensorType& image, const TensorType& filters) {
  if (image.rank() != 4 || image.NumElements() == 0 || filters.NumElements() == 0) return false;
  if (conv.Int("group") != 1 || !AllAtMost(conv.Ints("dilations"), 1)) return false;
  const bool narrow = image.dtype == DType::kF16 || image.dtype == DType::kBF16;
  const bool rounded = image.dtype == DType::kF32 && conv.Has("precision");
  if ((!narrow && !rounded) || filters.dtype != image.dtype) return false;
  return image.dims[1] <= kMostChannels && filters.dims[0] <= kMostFilters &&
         filters.dims[0] % kVector == 0 && AllAtMost(conv.Ints("strides"), kLargestStride) &&
         filters.dims[2] <= kLargestKernel && filters.dims[3] <= kLargestKernel &&
         conv.type.NumElements() > 0;
}

}  // namespace mlc::graph
