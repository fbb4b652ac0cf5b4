#include "worker/device/cuda/expected.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <thread>

#include "compiler/graph/physical/strided_data.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::worker {
namespace {

constexpr int64_t kElementsPerThread = int64_t{1} << 18;

// All 65536 values of a 16-bit float type.
std::vector<float> Table(DType dtype) {
  std::vector<std::byte> bytes(size_t{65536} * 2);
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<uint16_t>(i);
    std::memcpy(bytes.data() + size_t{2} * i, &half, 2);
  }
  const auto data = graph::MakeTensorData(dtype, {65536}, std::move(bytes));
  const std::vector<double> values = graph::ReadDoubles(*data);
  return {values.begin(), values.end()};
}

const std::vector<float>& TableOf(DType dtype) {
  static const std::vector<float> half = Table(DType::kF16);
  static const std::vector<float> brain = Table(DType::kBF16);
  return dtype == DType::kF16 ? half : brain;
}

void Decode(DType dtype, const std::byte* from, int64_t count, float* to) {
  if (dtype == DType::kF32) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const std::vector<float>& table = TableOf(dtype);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, from + 2 * i, 2);
    to[i] = table[half];
  }
}

// The largest difference of a slice; infinite where one is NaN and the other is not, or an infinity
// is missing.
double LargestDifference(DType dtype, const std::byte* got, const float* want, int64_t count) {
  constexpr int64_t kBlock = 1024;
  float block[kBlock];
  float largest = 0;
  bool broken = false;
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t size = std::min(kBlock, count - at);
    Decode(dtype, got + at * SizeOf(dtype), size, block);
    for (int64_t i = 0; i < size; ++i) {
      const float a = block[i];
      const float b = want[at + i];
      const float difference = std::fabs(a - b);
      const bool same = a == b || (a != a && b != b);
      largest = std::max(largest, same ? 0.0F : difference);
      broken |= !same && !(difference <= std::numeric_limits<float>::max());
    }
  }
  return broken ? std::numeric_limits<double>::infinity() : largest;
}

}  // namespace

ExpectedOutput ExpectedOutput::Make(const graph::TensorType& type, const std::byte* want) {
  ExpectedOutput expected;
  expected.type_ = type;
  expected.want_ = want;
  const bool fast =
      type.dtype == DType::kF32 || type.dtype == DType::kF16 || type.dtype == DType::kBF16;
  if (!fast) return expected;
  const auto size = static_cast<size_t>(type.Extent() * SizeOf(type.dtype));
  std::vector<std::byte> placed(size, std::byte{0xff});
  graph::ScatterStrided(want, type, placed.data());
  expected.values_.resize(static_cast<size_t>(type.Extent()));
  Decode(type.dtype, placed.data(), type.Extent(), expected.values_.data());
  float scale = 0;
  for (float value : expected.values_) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  }
  expected.scale_ = scale == 0 ? 1 : scale;
  return expected;
}

Comparison ExpectedOutput::Check(const std::byte* got, double tolerance, int threads) const {
  if (values_.empty()) return Compare(type_, got, want_, tolerance);
  const auto count = static_cast<int64_t>(values_.size());
  const int64_t slices = std::clamp<int64_t>(count / kElementsPerThread, 1, std::max(1, threads));
  std::vector<double> largest(static_cast<size_t>(slices));
  const auto work = [&](int64_t slice) {
    const int64_t from = count * slice / slices;
    const int64_t to = count * (slice + 1) / slices;
    largest[static_cast<size_t>(slice)] = LargestDifference(
        type_.dtype, got + from * SizeOf(type_.dtype), values_.data() + from, to - from);
  };
  std::vector<std::thread> others;
  int64_t next = 1;
  try {
    for (; next < slices; ++next) others.emplace_back(work, next);
  } catch (const std::system_error&) {
    // Out of threads, which is no fault of the kernel's.
    for (; next < slices; ++next) work(next);
  }
  work(0);
  for (std::thread& other : others) other.join();
  const double worst = *std::max_element(largest.begin(), largest.end());
  Comparison result;
  result.error = worst / scale_;
  if (worst <= ErrorBound(type_.dtype, tolerance) * scale_) return result;
  // Only a wrong result pays for the search of its place.
  result = Compare(type_, got, want_, tolerance);
  if (!result.ok) return result;
  result.ok = false;
  result.detail = "written between the strides";
  return result;
}

}  // namespace mlc::worker
