#include "compiler/graph/float8_codes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

// The f16 constants of a float8 type: -1 where a number is none of it. NaN is none.
std::vector<int16_t> CodesOfHalves(DType dtype) {
  const std::vector<double> numbers = NumbersOfCodes(dtype);
  const TensorDataRef halves = WriteDoubles(DType::kF16, {256}, numbers);
  std::vector<int16_t> codes(65536, -1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, halves->bytes.data() + i * sizeof(half), sizeof(half));
    if (!std::isnan(numbers[i])) codes[half] = static_cast<int16_t>(i);
  }
  return codes;
}

}  // namespace

std::vector<double> NumbersOfCodes(DType dtype) {
  std::vector<std::byte> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  return ReadDoubles(*MakeTensorData(dtype, {256}, std::move(all)));
}

std::optional<TensorDataRef> AsFloat8(const TensorDataRef& data) {
  if (IsFloat8(data->dtype)) return data;
  if (data->dtype != DType::kF16) return std::nullopt;
  for (const DType dtype : {DType::kF8E4M3Fn, DType::kF8E5M2}) {
    const std::vector<int16_t> codes = CodesOfHalves(dtype);
    std::vector<std::byte> bytes(data->bytes.size() / 2);
    bool all = !bytes.empty();
    for (size_t i = 0; i < bytes.size() && all; ++i) {
      uint16_t half = 0;
      std::memcpy(&half, data->bytes.data() + i * sizeof(half), sizeof(half));
      all = codes[half] >= 0;
      bytes[i] = static_cast<std::byte>(codes[half] & 0xff);
    }
    if (all) return MakeTensorData(dtype, data->dims, std::move(bytes));
  }
  return std::nullopt;
}

bool IsFinite(const TensorData& data) {
  const std::vector<double> numbers = NumbersOfCodes(data.dtype);
  return std::all_of(data.bytes.begin(), data.bytes.end(), [&](std::byte code) {
    return std::isfinite(numbers[static_cast<size_t>(code)]);
  });
}

}  // namespace mlc::graph
