// Matrix product and convolution.
#include <algorithm>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/evaluate/evaluate_product.h"
#include "compiler/graph/float8_product.h"
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

// Where the matrices of a product with broadcast leading dimensions lie.
struct Batches {
  std::vector<std::pair<int64_t, int64_t>> offsets;  // of a and b, in elements
  int64_t m = 0, k = 0, n = 0;
};

Batches BatchesOf(const Value& node, Operands operands) {
  const std::vector<int64_t>& dims = node.type.dims;
  const std::vector<int64_t>& a_dims = operands[0]->dims;
  const std::vector<int64_t>& b_dims = operands[1]->dims;
  Batches batches;
  batches.m = dims[dims.size() - 2];
  batches.n = dims.back();
  batches.k = a_dims.back();
  const std::vector<int64_t> batch(dims.begin(), dims.end() - 2);
  const auto batch_strides = [&](const std::vector<int64_t>& from) {
    return BroadcastStrides({from.begin(), from.end() - 2}, batch);
  };
  const std::vector<int64_t> a_strides = batch_strides(a_dims);
  const std::vector<int64_t> b_strides = batch_strides(b_dims);
  std::vector<int64_t> at(batch.size(), 0);
  do {
    int64_t a_matrix = 0, b_matrix = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      a_matrix += at[d] * a_strides[d];
      b_matrix += at[d] * b_strides[d];
    }
    batches.offsets.emplace_back(a_matrix * batches.m * batches.k,
                                 b_matrix * batches.k * batches.n);
  } while (NextIndex(batch, at));
  return batches;
}

std::vector<uint64_t> MatMul(const Value& node, Operands operands, const std::vector<uint64_t>& a,
                             const std::vector<uint64_t>& b) {
  std::vector<uint64_t> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  const Batches batches = BatchesOf(node, operands);
  uint64_t* to = out.data();
  for (const auto& [a_at, b_at] : batches.offsets) {
    Multiply(a.data() + a_at, b.data() + b_at, to, batches.m, batches.k, batches.n);
    to += batches.m * batches.n;
  }
  return out;
}

std::vector<double> MatMul(const Value& node, Operands operands, const std::vector<double>& a,
                           const std::vector<double>& b, int threads) {
  std::vector<double> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  const Batches batches = BatchesOf(node, operands);
  const int64_t n = batches.n;
  RunProducts(static_cast<int64_t>(batches.offsets.size()), threads, [&](int64_t i) {
    const auto [a_at, b_at] = batches.offsets[static_cast<size_t>(i)];
    const double* from = b.data() + b_at;
    Product product{.a = a.data() + a_at,
                    .out = out.data() + i * batches.m * n,
                    .m = batches.m,
                    .k = batches.k,
                    .n = n,
                    .out_stride = n,
                    .fill = {}};
    product.fill = [from, n, k = batches.k](int64_t first, int64_t count, int64_t stride,
                                            double* panel) {
      for (int64_t row = 0; row < k; ++row) {
        std::copy_n(from + row * n + first, count, panel + row * stride);
      }
    };
    return product;
  });
  return out;
}

struct ConvShape {
  std::span<const int64_t> in, out, kernel;  // spatial sizes
  std::span<const int64_t> strides, dilations, pads;
};

// Where output position `index` reads a plane at the kernel position `tap`; -1: in the padding.
int64_t ReadsAt(const ConvShape& shape, int64_t index, int64_t tap) {
  int64_t offset = 0;
  int64_t scale = 1;
  for (size_t d = shape.in.size(); d-- > 0;) {
    const int64_t x = index % shape.out[d] * shape.strides[d] +
                      tap % shape.kernel[d] * shape.dilations[d] - shape.pads[d];
    if (x < 0 || x >= shape.in[d]) return -1;
    offset += x * scale;
    scale *= shape.in[d];
    index /= shape.out[d];
    tap /= shape.kernel[d];
  }
  return offset;
}

// Rows (channel, tap) of a panel, for `count` output positions.
void FillPatches(const ConvShape& shape, const double* planes, int64_t channels, int64_t first,
                 int64_t count, int64_t stride, double* panel) {
  const int64_t in_plane = CountOf(shape.in), taps = CountOf(shape.kernel);
  std::vector<int64_t> reads(static_cast<size_t>(count));
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t j = 0; j < count; ++j) {
      reads[static_cast<size_t>(j)] = ReadsAt(shape, first + j, tap);
    }
    for (int64_t c = 0; c < channels; ++c) {
      const double* from = planes + c * in_plane;
      double* to = panel + (c * taps + tap) * stride;
      for (int64_t j = 0; j < count; ++j) {
        const int64_t at = reads[static_cast<size_t>(j)];
        to[j] = at < 0 ? 0 : from[at];
      }
    }
  }
}

std::vector<double> Conv(const Value& node, Operands operands, const std::vector<double>& x,
                         const std::vector<double>& w, int threads) {
  const std::span<const int64_t> x_dims(operands[0]->dims), w_dims(operands[1]->dims);
  const std::span<const int64_t> out_dims(node.type.dims);
  const ConvShape shape{x_dims.subspan(2),    out_dims.subspan(2),    w_dims.subspan(2),
                        node.Ints("strides"), node.Ints("dilations"), node.Ints("pads")};
  std::vector<double> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty() || x.empty() || w.empty()) return out;
  const int64_t groups = node.Int("group");
  const int64_t channels = w_dims[1], filters = w_dims[0] / groups;
  const int64_t in_plane = CountOf(shape.in), out_plane = CountOf(shape.out);
  const int64_t k = channels * CountOf(shape.kernel);
  // One product for each image and group: filters times patches.
  RunProducts(out_dims[0] * groups, threads, [&](int64_t i) {
    const int64_t image = i / groups, group = i % groups;
    const double* planes = x.data() + (image * x_dims[1] + group * channels) * in_plane;
    Product product{.a = w.data() + group * filters * k,
                    .out = out.data() + (image * w_dims[0] + group * filters) * out_plane,
                    .m = filters,
                    .k = k,
                    .n = out_plane,
                    .out_stride = out_plane,
                    .fill = {}};
    product.fill = [&shape, planes, channels](int64_t first, int64_t count, int64_t stride,
                                              double* panel) {
      FillPatches(shape, planes, channels, first, count, stride, panel);
    };
    return product;
  });
  return out;
}

// Of a product of scaled blocks (float8_product.h): both matrices times their scales.
void ScaleBlocks(const Value& node, Operands operands, std::vector<double>& a,
                 std::vector<double>& b) {
  const int64_t block = node.Int("block"), across = node.Int("across");
  const std::vector<double> rows = ReadDoubles(*operands[2]), columns = ReadDoubles(*operands[3]);
  const int64_t m = operands[0]->dims[0], k = operands[0]->dims[1], n = operands[1]->dims[1];
  const int64_t blocks = operands[2]->dims[1], wide = operands[3]->dims[1];
  for (int64_t i = 0; i < m * k; ++i) {
    a[static_cast<size_t>(i)] *= rows[static_cast<size_t>(i / k * blocks + i % k / block)];
  }
  for (int64_t i = 0; i < k * n; ++i) {
    b[static_cast<size_t>(i)] *=
        columns[static_cast<size_t>(i / n / block * wide + i % n / across)];
  }
}

}  // namespace

Result<TensorDataRef> EvaluateContraction(const Value& node, Operands operands, int threads) {
  // Doubles hold sums of products of bytes.
  const bool of_bytes = operands[0]->dtype != node.type.dtype;
  if (!IsFloat(node.type.dtype) && !of_bytes) {
    // Unsigned, so that overflow wraps.
    const auto unsigned_of = [](const TensorData& data) {
      const std::vector<int64_t> values = ReadInts(data);
      return std::vector<uint64_t>(values.begin(), values.end());
    };
    const std::vector<uint64_t> product =
        MatMul(node, operands, unsigned_of(*operands[0]), unsigned_of(*operands[1]));
    const std::vector<int64_t> out(product.begin(), product.end());
    return WriteInts(node.type.dtype, node.type.dims, out);
  }
  std::vector<double> a = ReadDoubles(*operands[0]);
  std::vector<double> b = ReadDoubles(*operands[1]);
  if (IsProductOfBlocks(node)) ScaleBlocks(node, operands, a, b);
  const std::vector<double> out = node.op == Op::kMatMul ? MatMul(node, operands, a, b, threads)
                                                         : Conv(node, operands, a, b, threads);
  return WriteDoubles(node.type.dtype, node.type.dims, out);
}

}  // namespace mlc::graph::evaluate_internal
