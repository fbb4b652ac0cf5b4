#include "worker/check/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/text.h"
#include "compiler/graph/physical/strided_data.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/types/small_float.h"

namespace mlc::worker {
namespace {

std::vector<double> Numbers(const graph::TensorType& type, std::vector<std::byte> bytes) {
  std::vector<double> numbers(static_cast<size_t>(type.NumElements()));
  if (type.dtype == DType::kF32) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      float value;
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      numbers[i] = value;
    }
    return numbers;
  }
  return graph::ReadDoubles(*graph::MakeTensorData(type.dtype, type.dims, std::move(bytes)));
}

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A NaN's sign says nothing.
std::string Text(double value) { return std::isnan(value) ? "nan" : FloatToText(value); }

std::string Describe(const graph::TensorType& type, size_t position, double got, double want) {
  std::vector<int64_t> index(type.dims.size());
  auto rest = static_cast<int64_t>(position);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = rest % type.dims[d];
    rest /= type.dims[d];
  }
  return "element " + IntListToText(index) + " is " + Text(got) + " instead of " + Text(want);
}

Comparison CompareIntegers(const graph::TensorType& type, const std::vector<double>& got,
                           const std::vector<double>& want, double scale) {
  const bool rounded = SizeOf(type.dtype) == 1 && type.dtype != DType::kBool;
  Comparison result;
  size_t off_by_one = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    if (difference == 0) continue;
    result.error = std::max(result.error, difference / scale);
    if (rounded && difference == 1 && ++off_by_one * 100 <= got.size()) continue;
    if (result.ok) result.detail = Describe(type, i, got[i], want[i]);
    result.ok = false;
  }
  return result;
}

// Exact algorithms in fp32, as of a model that nothing is said of.
constexpr double kPlainTolerance = 1e-4;

// Products of operands that were rounded to tf32 (10 bits), summed in fp32.
constexpr double kTf32Tolerance = 3e-3;

}  // namespace

double ErrorBound(DType dtype, double tolerance) {
  if (dtype == DType::kF16) return std::max(tolerance, 4e-3);
  if (dtype == DType::kBF16) return std::max(tolerance, 3e-2);
  // A step of the type: sums of another order may round to the next number.
  if (IsFloat(dtype) && IsSmall(dtype)) {
    return std::max(tolerance, std::ldexp(1, -FormOf(dtype).mantissa_bits));
  }
  return tolerance;
}

double ToleranceOf(const graph::Workload& workload) {
  // Of 0, no algorithm is approximate; sums are still made in another order than the reference's.
  double tolerance = workload.tolerance() > 0 ? workload.tolerance() : kPlainTolerance;
  const graph::Graph& graph = workload.graph();
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    const graph::Value& value = graph[id];
    // What is stored as float8 already has no step of rounding.
    const bool source = value.op == graph::Op::kInput || value.op == graph::Op::kWeight;
    if (!source || !IsFloat8(value.type.dtype)) {
      tolerance = ErrorBound(value.type.dtype, tolerance);
    }
    if (value.Has("precision") && value.Word("precision") == "tf32") {
      tolerance = std::max(tolerance, kTf32Tolerance);
    }
  }
  return tolerance;
}

Comparison Compare(const graph::TensorType& type, const std::byte* got, const std::byte* want,
                   double tolerance) {
  const std::vector<double> actual = Numbers(type, graph::GatherStrided(got, type));
  const auto size = static_cast<size_t>(type.NumElements() * SizeOf(type.dtype));
  const std::vector<double> expected = Numbers(type, {want, want + size});
  double scale = 0;
  for (double value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  if (scale == 0) scale = 1;
  if (!IsFloat(type.dtype)) return CompareIntegers(type, actual, expected, scale);
  const double bound = ErrorBound(type.dtype, tolerance) * scale;
  Comparison result;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (Same(actual[i], expected[i])) continue;
    double difference = std::abs(actual[i] - expected[i]);
    // Logs hold finite errors only, and a scale below 1 makes large ones larger.
    constexpr double kLargest = std::numeric_limits<double>::max();
    if (!std::isfinite(difference)) difference = kLargest;
    result.error = std::max(result.error, std::min(difference / scale, kLargest));
    if (difference <= bound) continue;
    if (result.ok) result.detail = Describe(type, i, actual[i], expected[i]);
    result.ok = false;
  }
  return result;
}

int64_t ComparisonBytes(const graph::TensorType& type) {
  // Of both sides: the elements in row-major order, once more on their way, and as numbers.
  return type.NumElements() * 2 * (2 * SizeOf(type.dtype) + int64_t{sizeof(double)});
}

}  // namespace mlc::worker
