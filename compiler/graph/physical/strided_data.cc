#include "compiler/graph/physical/strided_data.h"

#include <cstring>

namespace mlc::graph {

namespace {

// Calls visit(dense position, strided position), in bytes, for every element in row-major order.
template <typename Visit>
void ForEachElement(const TensorType& type, Visit visit) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  const int64_t size = SizeOf(type.dtype);
  const int64_t count = type.NumElements();
  std::vector<int64_t> index(type.dims.size(), 0);
  int64_t position = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i * size, position * size);
    for (size_t d = index.size(); d-- > 0;) {
      position += strides[d];
      if (++index[d] < type.dims[d]) break;
      position -= strides[d] * type.dims[d];
      index[d] = 0;
    }
  }
}

}  // namespace

std::vector<std::byte> GatherStrided(const std::byte* first, const TensorType& type) {
  const auto size = static_cast<size_t>(SizeOf(type.dtype));
  std::vector<std::byte> dense(static_cast<size_t>(type.NumElements()) * size);
  ForEachElement(
      type, [&](int64_t to, int64_t from) { std::memcpy(dense.data() + to, first + from, size); });
  return dense;
}

void ScatterStrided(const std::byte* dense, const TensorType& type, std::byte* first) {
  const auto size = static_cast<size_t>(SizeOf(type.dtype));
  ForEachElement(type,
                 [&](int64_t from, int64_t to) { std::memcpy(first + to, dense + from, size); });
}

}  // namespace mlc::graph
