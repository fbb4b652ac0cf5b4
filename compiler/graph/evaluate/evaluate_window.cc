// Pooling and attention.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

struct Window {
  std::span<const int64_t> in, kernel, strides, dilations, pads;
  bool max = false;
  bool count_padding = false;
};

double PoolAt(const Window& window, const std::vector<int64_t>& at, const double* plane) {
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  int64_t inside_count = 0;
  std::vector<int64_t> tap(window.kernel.size(), 0);
  do {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < tap.size() && inside; ++d) {
      const int64_t x = at[d] * window.strides[d] + tap[d] * window.dilations[d] - window.pads[d];
      inside = x >= 0 && x < window.in[d];
      offset = offset * window.in[d] + x;
    }
    if (!inside) continue;
    ++inside_count;
    const double value = plane[offset];
    sum += value;
    if (value > best || std::isnan(value)) best = value;
  } while (NextIndex(window.kernel, tap));
  if (window.max) return best;
  return sum / static_cast<double>(window.count_padding ? CountOf(window.kernel) : inside_count);
}

// Softmax of `scores` in place.
void Normalize(std::vector<double>& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - highest);
  for (double& score : scores) score /= sum;
}

}  // namespace

Result<TensorDataRef> EvaluatePool(const Value& node, Operands operands) {
  const std::span<const int64_t> x_dims(operands[0]->dims), out_dims(node.type.dims);
  Window window{x_dims.subspan(2), node.Ints("kernel"), node.Ints("strides"),
                node.Ints("dilations"), node.Ints("pads")};
  window.max = node.Word("kind") == "max";
  window.count_padding = node.Int("count_include_pad") != 0;
  const std::vector<double> x = ReadDoubles(*operands[0]);
  std::vector<double> out(static_cast<size_t>(node.type.NumElements()));
  const int64_t in_plane = CountOf(window.in), planes = out_dims[0] * out_dims[1];
  double* to = out.data();
  for (int64_t plane = 0; plane < planes && !out.empty(); ++plane) {
    std::vector<int64_t> at(window.kernel.size(), 0);
    do {
      *to++ = PoolAt(window, at, x.data() + plane * in_plane);
    } while (NextIndex(out_dims.subspan(2), at));
  }
  return WriteDoubles(node.type.dtype, node.type.dims, out);
}

Result<TensorDataRef> EvaluateAttention(const Value& node, Operands operands) {
  const std::vector<double> q = ReadDoubles(*operands[0]);
  const std::vector<double> k = ReadDoubles(*operands[1]);
  const std::vector<double> v = ReadDoubles(*operands[2]);
  const std::vector<int64_t>& q_dims = operands[0]->dims;
  const int64_t queries = q_dims[2], keys = operands[1]->dims[2], depth = q_dims[3];
  const int64_t width = operands[2]->dims[3];
  std::vector<double> mask;
  std::vector<int64_t> mask_strides(4, 0);
  if (operands.size() > 3 && operands[3] != nullptr) {
    mask = ReadDoubles(*operands[3]);
    mask_strides = BroadcastStrides(operands[3]->dims, {q_dims[0], q_dims[1], queries, keys});
  }
  std::vector<double> out(static_cast<size_t>(node.type.NumElements()), 0.0);
  if (out.empty() || keys == 0) return WriteDoubles(node.type.dtype, node.type.dims, out);
  const double scale = node.Float("scale");
  const bool counted = operands.size() > 4 && operands[4] != nullptr;
  const int64_t count = counted ? std::clamp<int64_t>(ReadInts(*operands[4])[0], 1, keys) : keys;
  std::vector<double> scores(static_cast<size_t>(count));
  for (int64_t head = 0; head < q_dims[0] * q_dims[1]; ++head) {
    const int64_t mask_head =
        head / q_dims[1] * mask_strides[0] + head % q_dims[1] * mask_strides[1];
    for (int64_t s = 0; s < queries; ++s) {
      const double* query = q.data() + (head * queries + s) * depth;
      for (int64_t t = 0; t < count; ++t) {
        const double* key = k.data() + (head * keys + t) * depth;
        double dot = 0;
        for (int64_t d = 0; d < depth; ++d) dot += query[d] * key[d];
        double& score = scores[static_cast<size_t>(t)];
        score = scale * dot;
        if (!mask.empty()) {
          score += mask[static_cast<size_t>(mask_head + s * mask_strides[2] + t * mask_strides[3])];
        }
      }
      Normalize(scores);
      double* to = out.data() + (head * queries + s) * width;
      for (int64_t t = 0; t < count; ++t) {
        const double* value = v.data() + (head * keys + t) * width;
        for (int64_t e = 0; e < width; ++e) to[e] += scores[static_cast<size_t>(t)] * value[e];
      }
    }
  }
  return WriteDoubles(node.type.dtype, node.type.dims, out);
}

}  // namespace mlc::graph::evaluate_internal
