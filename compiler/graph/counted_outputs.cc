#include "compiler/graph/counted_outputs.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// Appends the first elements of a tensor's axes from `axis` on.
void AppendFirst(const std::vector<int64_t>& of, const TensorData& in, size_t axis, int64_t offset,
                 std::vector<std::byte>& bytes) {
  const auto element = static_cast<int64_t>(SizeOf(in.dtype));
  if (axis == of.size()) {
    const auto* const begin = in.bytes.data() + offset * element;
    bytes.insert(bytes.end(), begin, begin + element);
    return;
  }
  int64_t inner = 1;
  for (size_t a = axis + 1; a < of.size(); ++a) inner *= in.dims[a];
  for (int64_t i = 0; i < of[axis]; ++i) {
    AppendFirst(of, in, axis + 1, offset + i * inner, bytes);
  }
}

}  // namespace

int64_t CountedLength::At(std::span<const int64_t> counts) const {
  int64_t length = base;
  for (size_t d = 0; d < factors.size(); ++d) length += factors[d] * counts[d];
  return std::clamp<int64_t>(length, 0, std::max<int64_t>(most, 0));
}

std::vector<TensorDataRef> CutOutputs(const CountedOutputs& counted,
                                      std::vector<TensorDataRef> results) {
  if (counted.count == 0) return results;
  const std::vector<int64_t> counts = ReadInts(*results.back());
  results.pop_back();
  for (size_t o = 0; o < results.size(); ++o) {
    std::vector<int64_t> dims;
    for (const CountedLength& length : counted.lengths[o]) dims.push_back(length.At(counts));
    if (dims == results[o]->dims) continue;
    std::vector<std::byte> bytes;
    AppendFirst(dims, *results[o], 0, 0, bytes);
    results[o] = MakeTensorData(results[o]->dtype, std::move(dims), std::move(bytes));
  }
  return results;
}

}  // namespace mlc::graph
