// Matrix product and convolution: plain loops with contiguous innermost access.
#include <algorithm>

#include "compiler/graph/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

// out[m,n] += a[m,k] * b[k,n], all dense, four rows at a time so that each row of b is read once
// for four of a.
template <typename T>
void Multiply(const T* a, const T* b, T* out, int64_t m, int64_t k, int64_t n) {
  for (int64_t row = 0; row < m; row += 4) {
    const int64_t rows = std::min<int64_t>(4, m - row);
    for (int64_t inner = 0; inner < k; ++inner) {
      const T* from = b + inner * n;
      for (int64_t r = 0; r < rows; ++r) {
        const T factor = a[(row + r) * k + inner];
        T* to = out + (row + r) * n;
        for (int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
      }
    }
  }
}

template <typename T>
std::vector<T> MatMul(const Value& node, Operands operands, const std::vector<T>& a,
                      const std::vector<T>& b) {
  const std::vector<int64_t>& dims = node.type.dims;
  const std::vector<int64_t>& a_dims = operands[0]->dims;
  const std::vector<int64_t>& b_dims = operands[1]->dims;
  const int64_t m = dims[dims.size() - 2], n = dims.back(), k = a_dims.back();
  std::vector<T> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  const std::vector<int64_t> batch(dims.begin(), dims.end() - 2);
  const auto batch_strides = [&](const std::vector<int64_t>& from) {
    return BroadcastStrides({from.begin(), from.end() - 2}, batch);
  };
  const std::vector<int64_t> a_strides = batch_strides(a_dims);
  const std::vector<int64_t> b_strides = batch_strides(b_dims);
  std::vector<int64_t> at(batch.size(), 0);
  T* to = out.data();
  do {
    int64_t a_matrix = 0, b_matrix = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      a_matrix += at[d] * a_strides[d];
      b_matrix += at[d] * b_strides[d];
    }
    Multiply(a.data() + a_matrix * m * k, b.data() + b_matrix * k * n, to, m, k, n);
    to += m * n;
  } while (NextIndex(batch, at));
  return out;
}

struct ConvShape {
  std::span<const int64_t> in, out, kernel;  // spatial sizes
  std::span<const int64_t> strides, dilations, pads;
};

// plane_out += weight * plane_in shifted by the kernel position `tap`.
void AddTap(const ConvShape& shape, std::span<const int64_t> tap, double weight, const double* in,
            double* out) {
  const size_t last = shape.in.size() - 1;
  // Outputs [first, end) of the last dimension read inside the operand.
  const int64_t shift = tap[last] * shape.dilations[last] - shape.pads[last];
  const int64_t step = shape.strides[last];
  const int64_t first = shift >= 0 ? 0 : (-shift + step - 1) / step;
  const int64_t room = shape.in[last] - 1 - shift;
  const int64_t end = room < 0 ? 0 : std::min(shape.out[last], room / step + 1);
  std::vector<int64_t> at(last, 0);
  const auto outer = shape.out.first(last);
  double* to = out;
  do {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < last && inside; ++d) {
      const int64_t x = at[d] * shape.strides[d] + tap[d] * shape.dilations[d] - shape.pads[d];
      inside = x >= 0 && x < shape.in[d];
      offset = offset * shape.in[d] + x;
    }
    if (inside) {
      const double* from = in + offset * shape.in[last] + shift;
      if (step == 1) {
        for (int64_t j = first; j < end; ++j) to[j] += weight * from[j];
      } else {
        for (int64_t j = first; j < end; ++j) to[j] += weight * from[j * step];
      }
    }
    to += shape.out[last];
  } while (NextIndex(outer, at));
}

std::vector<double> Conv(const Value& node, Operands operands, const std::vector<double>& x,
                         const std::vector<double>& w) {
  const std::span<const int64_t> x_dims(operands[0]->dims), w_dims(operands[1]->dims);
  const std::span<const int64_t> out_dims(node.type.dims);
  const ConvShape shape{x_dims.subspan(2),    out_dims.subspan(2),    w_dims.subspan(2),
                        node.Ints("strides"), node.Ints("dilations"), node.Ints("pads")};
  std::vector<double> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty() || x.empty() || w.empty()) return out;
  const int64_t channels = w_dims[1], filters = w_dims[0];
  const int64_t filters_per_group = filters / node.Int("group");
  const int64_t in_plane = CountOf(shape.in), out_plane = CountOf(shape.out);
  const int64_t taps = CountOf(shape.kernel);
  for (int64_t image = 0; image < out_dims[0]; ++image) {
    for (int64_t filter = 0; filter < filters; ++filter) {
      double* to = out.data() + (image * filters + filter) * out_plane;
      const int64_t first_channel = filter / filters_per_group * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const double* from = x.data() + (image * x_dims[1] + first_channel + c) * in_plane;
        const double* weight = w.data() + (filter * channels + c) * taps;
        std::vector<int64_t> tap(shape.kernel.size(), 0);
        do {
          AddTap(shape, tap, *weight++, from, to);
        } while (NextIndex(shape.kernel, tap));
      }
    }
  }
  return out;
}

}  // namespace

Result<TensorDataRef> EvaluateContraction(const Value& node, Operands operands) {
  if (!IsFloat(node.type.dtype)) {
    // Unsigned, so that overflow wraps.
    const auto unsigned_of = [](const TensorData& data) {
      const std::vector<int64_t> values = ReadInts(data);
      return std::vector<uint64_t>(values.begin(), values.end());
    };
    const std::vector<uint64_t> product =
        MatMul<uint64_t>(node, operands, unsigned_of(*operands[0]), unsigned_of(*operands[1]));
    const std::vector<int64_t> out(product.begin(), product.end());
    return WriteInts(node.type.dtype, node.type.dims, out);
  }
  const std::vector<double> a = ReadDoubles(*operands[0]);
  const std::vector<double> b = ReadDoubles(*operands[1]);
  const std::vector<double> out =
      node.op == Op::kMatMul ? MatMul<double>(node, operands, a, b) : Conv(node, operands, a, b);
  return WriteDoubles(node.type.dtype, node.type.dims, out);
}

}  // namespace mlc::graph::evaluate_internal
