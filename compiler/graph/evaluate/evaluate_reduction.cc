// Reductions over axes and normalisations along an axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

// For each element in order, the output element that it belongs to.
class Groups {
 public:
  Groups(const std::vector<int64_t>& dims, const std::vector<int64_t>& axes) : dims_(dims) {
    std::vector<int64_t> kept = dims;
    for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
    strides_ = BroadcastStrides(kept, dims);
  }

  // Calls f(element, output element).
  template <typename F>
  void ForEach(F f) const {
    if (CountOf(dims_) == 0) return;
    std::vector<int64_t> at(dims_.size(), 0);
    size_t element = 0;
    do {
      int64_t to = 0;
      for (size_t d = 0; d < at.size(); ++d) to += at[d] * strides_[d];
      f(element++, static_cast<size_t>(to));
    } while (NextIndex(dims_, at));
  }

 private:
  const std::vector<int64_t>& dims_;
  std::vector<int64_t> strides_;
};

template <typename T>
T Lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <typename T>
T Highest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

template <typename T>
bool IsNan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <typename T>
std::vector<T> Extreme(const Groups& groups, const std::vector<T>& x, size_t count, bool max) {
  std::vector<T> out(count, max ? Lowest<T>() : Highest<T>());
  groups.ForEach([&](size_t i, size_t o) {
    const T value = x[i];
    if ((max ? value > out[o] : value < out[o]) || IsNan(value)) out[o] = value;
  });
  return out;
}

std::vector<double> ReduceFloats(const std::string& kind, const Groups& groups,
                                 const std::vector<double>& x, size_t count) {
  if (kind == "max" || kind == "min") return Extreme<double>(groups, x, count, kind == "max");
  std::vector<double> out(count, kind == "prod" ? 1.0 : 0.0);
  if (kind == "log_sum_exp") {
    const std::vector<double> highest = Extreme<double>(groups, x, count, true);
    groups.ForEach([&](size_t i, size_t o) {
      out[o] += std::isinf(highest[o]) ? std::exp(x[i]) : std::exp(x[i] - highest[o]);
    });
    for (size_t o = 0; o < count; ++o) {
      out[o] = std::log(out[o]) + (std::isinf(highest[o]) ? 0.0 : highest[o]);
    }
    return out;
  }
  if (kind == "prod") {
    groups.ForEach([&](size_t i, size_t o) { out[o] *= x[i]; });
  } else if (kind == "l1") {
    groups.ForEach([&](size_t i, size_t o) { out[o] += std::abs(x[i]); });
  } else if (kind == "l2" || kind == "sum_square") {
    groups.ForEach([&](size_t i, size_t o) { out[o] += x[i] * x[i]; });
  } else {
    groups.ForEach([&](size_t i, size_t o) { out[o] += x[i]; });
  }
  if (kind == "l2") {
    for (double& value : out) value = std::sqrt(value);
  }
  if (kind == "mean") {
    const double size = static_cast<double>(x.size()) / static_cast<double>(count);
    for (double& value : out) value /= size;
  }
  return out;
}

// Sums wrap; the mean rounds towards zero.
std::vector<int64_t> ReduceInts(const std::string& kind, const Groups& groups,
                                const std::vector<int64_t>& x, size_t count) {
  if (kind == "max" || kind == "min") return Extreme<int64_t>(groups, x, count, kind == "max");
  std::vector<uint64_t> sums(count, kind == "prod" ? 1 : 0);
  groups.ForEach([&](size_t i, size_t o) {
    const auto value = static_cast<uint64_t>(x[i]);
    if (kind == "prod") {
      sums[o] *= value;
    } else if (kind == "sum_square") {
      sums[o] += value * value;
    } else {
      sums[o] += kind == "l1" && x[i] < 0 ? 0 - value : value;
    }
  });
  std::vector<int64_t> out(sums.begin(), sums.end());
  if (kind == "mean" && count > 0 && !x.empty()) {
    for (int64_t& value : out) value /= static_cast<int64_t>(x.size() / count);
  }
  return out;
}

Result<TensorDataRef> Reduce(const Value& node, const TensorData& x) {
  const std::string& kind = node.Word("kind");
  const Groups groups(x.dims, node.Ints("axes"));
  const auto count = static_cast<size_t>(node.type.NumElements());
  if (IsFloat(x.dtype) || kind == "l2" || kind == "log_sum_exp") {
    return WriteDoubles(node.type.dtype, node.type.dims,
                        ReduceFloats(kind, groups, ReadDoubles(x), count));
  }
  return WriteInts(node.type.dtype, node.type.dims, ReduceInts(kind, groups, ReadInts(x), count));
}

// The lines along one axis: `outer` x `size` x `inner`.
struct Lines {
  int64_t outer = 1, size = 1, inner = 1;

  Lines(const std::vector<int64_t>& dims, int64_t axis) {
    const std::span<const int64_t> all(dims);
    outer = CountOf(all.first(static_cast<size_t>(axis)));
    size = dims[static_cast<size_t>(axis)];
    inner = CountOf(all.subspan(static_cast<size_t>(axis) + 1));
  }
  // Calls f(line, offset of its first element); elements are `inner` apart.
  template <typename F>
  void ForEach(F f) const {
    for (int64_t line = 0; line < outer * inner; ++line) {
      f(line, line / inner * size * inner + line % inner);
    }
  }
};

template <typename T>
std::vector<int64_t> ArgOf(const Value& node, const Lines& lines, const std::vector<T>& x) {
  const bool max = node.Word("kind") == "max", last = node.Int("select_last") != 0;
  std::vector<int64_t> out(static_cast<size_t>(lines.outer * lines.inner));
  lines.ForEach([&](int64_t line, int64_t offset) {
    int64_t best = 0;
    for (int64_t i = 1; i < lines.size; ++i) {
      const T value = x[static_cast<size_t>(offset + i * lines.inner)];
      const T held = x[static_cast<size_t>(offset + best * lines.inner)];
      if ((max ? value > held : value < held) || (last && value == held)) best = i;
    }
    out[static_cast<size_t>(line)] = best;
  });
  return out;
}

void Softmax(const Lines& lines, bool logarithm, std::vector<double>& x) {
  lines.ForEach([&](int64_t, int64_t offset) {
    const auto at = [&](int64_t i) -> double& {
      return x[static_cast<size_t>(offset + i * lines.inner)];
    };
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < lines.size; ++i) highest = std::max(highest, at(i));
    for (int64_t i = 0; i < lines.size; ++i) sum += std::exp(at(i) - highest);
    for (int64_t i = 0; i < lines.size; ++i) {
      at(i) = logarithm ? at(i) - highest - std::log(sum) : std::exp(at(i) - highest) / sum;
    }
  });
}

template <typename T>
void CumulativeSum(const Value& node, const Lines& lines, std::vector<T>& x) {
  const bool exclusive = node.Int("exclusive") != 0, reverse = node.Int("reverse") != 0;
  lines.ForEach([&](int64_t, int64_t offset) {
    T sum = 0;
    for (int64_t step = 0; step < lines.size; ++step) {
      const int64_t i = reverse ? lines.size - 1 - step : step;
      T& element = x[static_cast<size_t>(offset + i * lines.inner)];
      const T value = element;
      element = exclusive ? sum : sum + value;
      sum += value;
    }
  });
}

bool OfLength(const Value& node) { return node.Has("kind") && node.Word("kind") == "l2"; }

TensorDataRef LayerNorm(const Value& node, Operands operands) {
  std::vector<double> x = ReadDoubles(*operands[0]);
  const auto axis = static_cast<size_t>(node.Int("axis"));
  const std::vector<int64_t> inner(node.type.dims.begin() + static_cast<int64_t>(axis),
                                   node.type.dims.end());
  const auto size = static_cast<size_t>(CountOf(inner));
  // Scale and bias, written out to the normalised dimensions.
  std::vector<std::vector<double>> affine(2);
  for (size_t which = 0; which < 2; ++which) {
    affine[which].assign(size, which == 0 ? 1.0 : 0.0);
    if (operands.size() <= which + 1 || operands[which + 1] == nullptr || size == 0) continue;
    const std::vector<double> values = ReadDoubles(*operands[which + 1]);
    const std::vector<int64_t> strides = BroadcastStrides(operands[which + 1]->dims, inner);
    std::vector<int64_t> at(inner.size(), 0);
    size_t to = 0;
    do {
      int64_t from = 0;
      for (size_t d = 0; d < at.size(); ++d) from += at[d] * strides[d];
      affine[which][to++] = values[static_cast<size_t>(from)];
    } while (NextIndex(inner, at));
  }
  for (size_t row = 0; size > 0 && row < x.size(); row += size) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < size && !node.Has("kind"); ++i) mean += x[row + i];
    mean /= static_cast<double>(size);
    for (size_t i = 0; i < size; ++i) variance += (x[row + i] - mean) * (x[row + i] - mean);
    const double epsilon = node.Float("epsilon");
    const double deviation = OfLength(node)
                                 ? std::max(std::sqrt(variance), epsilon)
                                 : std::sqrt(variance / static_cast<double>(size) + epsilon);
    const double factor = 1 / deviation;
    for (size_t i = 0; i < size; ++i) {
      x[row + i] = (x[row + i] - mean) * factor * affine[0][i] + affine[1][i];
    }
  }
  return WriteDoubles(node.type.dtype, node.type.dims, x);
}

TensorDataRef CumSum(const Value& node, const Lines& lines, const TensorData& x) {
  if (IsFloat(x.dtype)) {
    std::vector<double> values = ReadDoubles(x);
    CumulativeSum(node, lines, values);
    return WriteDoubles(x.dtype, x.dims, values);
  }
  const std::vector<int64_t> ints = ReadInts(x);
  std::vector<uint64_t> values(ints.begin(), ints.end());
  CumulativeSum(node, lines, values);
  return WriteInts(x.dtype, x.dims, std::vector<int64_t>(values.begin(), values.end()));
}

}  // namespace

Result<TensorDataRef> EvaluateReduction(const Value& node, Operands operands) {
  const TensorData& x = *operands[0];
  if (node.op == Op::kReduce) return Reduce(node, x);
  if (node.op == Op::kLayerNorm) return LayerNorm(node, operands);
  const Lines lines(x.dims, node.Int("axis"));
  if (node.op == Op::kCumSum) return CumSum(node, lines, x);
  if (node.op == Op::kArg) {
    return WriteInts(
        DType::kI64, node.type.dims,
        IsFloat(x.dtype) ? ArgOf(node, lines, ReadDoubles(x)) : ArgOf(node, lines, ReadInts(x)));
  }
  std::vector<double> values = ReadDoubles(x);
  Softmax(lines, node.op == Op::kLogSoftmax, values);
  return WriteDoubles(node.type.dtype, node.type.dims, values);
}

}  // namespace mlc::graph::evaluate_internal
