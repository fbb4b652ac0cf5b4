#include "tests/workloads/layers.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

// Larger tensors are of no network.
constexpr int64_t kMostElements = int64_t{1} << 28;

int64_t OneOf(Rng& rng, const Dims& values) { return values[rng.Below(values.size())]; }

int64_t Elements(const Dims& dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

int64_t Channels(Rng& rng) {
  return OneOf(rng, {1,   3,   4,   8,   16,  24,  32,  48,  64,   96,   128,
                     160, 192, 256, 320, 384, 512, 768, 960, 1024, 1280, 2048});
}

int64_t Size(Rng& rng) {
  return OneOf(rng, {1,  2,   4,   7,   8,   14,  16,  27,  28,  32,   55,  56,
                     64, 100, 112, 128, 192, 224, 256, 384, 512, 1000, 1024});
}

int64_t Length(Rng& rng) {
  return OneOf(rng, {1,   2,   8,   16,   49,   64,   77,   128,  196,   197,  256,
                     300, 512, 768, 1000, 1024, 2048, 3072, 4096, 11008, 30522});
}

std::string Image(bool channels_last, const Dims& dims) {
  return channels_last ? ChannelsLastType("f32", dims) : DenseType("f32", dims);
}

// Axes of a window: kernel, stride, dilation, padding on both sides, input and output size.
struct Window {
  Dims kernel, strides, dilations, pads, in, out;
};

Window RandomWindow(Rng& rng, size_t axes, const Dims& kernels) {
  Window w;
  for (size_t s = 0; s < axes; ++s) {
    const int64_t kernel = OneOf(rng, kernels), stride = OneOf(rng, {1, 1, 1, 2, 4});
    const int64_t dilation = kernel > 1 ? OneOf(rng, {1, 1, 1, 1, 2, 12}) : 1;
    const int64_t reach = (kernel - 1) * dilation, pad = Chance(rng, 80) ? reach / 2 : 0;
    const int64_t in =
        std::max(axes == 3 ? std::min<int64_t>(Size(rng), 64) : Size(rng), reach + 1);
    w.kernel.push_back(kernel);
    w.strides.push_back(stride);
    w.dilations.push_back(dilation);
    w.pads.push_back(pad);
    w.in.push_back(in);
    w.out.push_back((in + 2 * pad - reach - 1) / stride + 1);
  }
  w.pads.insert(w.pads.end(), w.pads.begin(), w.pads.end());
  return w;
}

Dims Joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string Convolution(Rng& rng) {
  const size_t axes = Chance(rng, 80) ? 2 : Chance(rng, 50) ? 1 : 3;
  const Window w = RandomWindow(rng, axes, {1, 1, 1, 3, 3, 3, 5, 7, 11});
  const int64_t batch = OneOf(rng, {1, 1, 1, 2, 4, 32});
  int64_t group = OneOf(rng, {1, 1, 1, 1, 2, 32});
  int64_t depth = Channels(rng), filters = Channels(rng);
  if (Chance(rng, 20)) {
    group = Channels(rng);
    depth = filters = 1;
  }
  const Dims x = Joined({batch, group * depth}, w.in), y = Joined({batch, group * filters}, w.out);
  const Dims weights = Joined({group * filters, depth}, w.kernel);
  if (std::max({Elements(x), Elements(y), Elements(weights)}) > kMostElements) return "";
  const std::string out = Image(Chance(rng, 70), y);
  std::string body = "  %0 = input() : " + Image(Chance(rng, 70), x) +
                     "\n  %1 = weight() : " + DenseType("f32", weights) +
                     "\n  %2 = conv(%0, %1) {dilations=" + IntListToText(w.dilations) +
                     ",group=" + std::to_string(group) + ",pads=" + IntListToText(w.pads) +
                     ",strides=" + IntListToText(w.strides) + "} : " + out + "\n";
  const bool bare = Chance(rng, 30);
  if (!bare) body += "  %3 = tanh(%2) : " + out + "\n";
  return WorkloadText(body, bare ? "%2" : "%3", Chance(rng, 70) ? "1e-04" : "1e-02");
}

std::string Product(Rng& rng) {
  const int64_t m = Length(rng), n = Length(rng), k = Length(rng);
  const int64_t batch = OneOf(rng, {1, 1, 12, 96});
  const auto dims = [&](int64_t rows, int64_t columns) {
    return batch == 1 ? Dims{rows, columns} : Dims{batch, rows, columns};
  };
  if (batch * std::max({m * k, k * n, m * n}) > kMostElements) return "";
  const std::string out = DenseType("f32", dims(m, n));
  return WorkloadText("  %0 = input() : " + DenseType("f32", dims(m, k)) +
                          "\n  %1 = " + (Chance(rng, 60) ? "weight" : "input") +
                          "() : " + DenseType("f32", dims(k, n)) +
                          "\n  %2 = matmul(%0, %1) : " + out + "\n  %3 = tanh(%2) : " + out + "\n",
                      "%3");
}

std::string Rows(Rng& rng) {
  const int64_t rows = Length(rng) * OneOf(rng, {1, 12, 300}), width = Length(rng);
  if (rows * width > kMostElements) return "";
  const std::string type = DenseType("f32", {rows, width}), row = DenseType("f32", {width});
  if (Chance(rng, 50)) {
    return WorkloadText(
        "  %0 = input() : " + type + "\n  %1 = softmax(%0) {axis=1} : " + type + "\n", "%1");
  }
  return WorkloadText("  %0 = input() : " + type + "\n  %1 = weight() : " + row +
                          "\n  %2 = weight() : " + row +
                          "\n  %3 = layer_norm(%0, %1, %2) {axis=1,epsilon=1e-05} : " + type + "\n",
                      "%3");
}

std::string Pool(Rng& rng) {
  const Window w = RandomWindow(rng, 2, {2, 3, 3, 5, 7});
  const Dims start = {OneOf(rng, {1, 1, 4, 32}), Channels(rng)};
  const Dims x = Joined(start, w.in), y = Joined(start, w.out);
  if (Elements(x) > kMostElements) return "";
  const bool last = Chance(rng, 70);
  return WorkloadText(
      "  %0 = input() : " + Image(last, x) + "\n  %1 = pool(%0) {count_include_pad=1,dilations=" +
          IntListToText(w.dilations) + ",kernel=" + IntListToText(w.kernel) +
          ",kind=" + (Chance(rng, 50) ? "max" : "avg") + ",pads=" + IntListToText(w.pads) +
          ",strides=" + IntListToText(w.strides) + "} : " + Image(last, y) + "\n",
      "%1");
}

std::string Attention(Rng& rng) {
  const int64_t batch = OneOf(rng, {1, 1, 4, 32}), heads = OneOf(rng, {1, 3, 12, 32});
  const int64_t queries = std::min<int64_t>(Length(rng), 8192);
  const int64_t keys = Chance(rng, 70) ? queries : std::min<int64_t>(Length(rng), 8192);
  const int64_t depth = OneOf(rng, {16, 32, 40, 64, 80, 128, 256});
  if (batch * heads * std::max(queries, keys) * depth > kMostElements) return "";
  const std::string q = DenseType("f32", {batch, heads, queries, depth});
  const std::string kv = DenseType("f32", {batch, heads, keys, depth});
  return WorkloadText("  %0 = input() : " + q + "\n  %1 = input() : " + kv + "\n  %2 = input() : " +
                          kv + "\n  %3 = attention(%0, %1, %2) {scale=0.125} : " + q + "\n",
                      "%3");
}

std::string Transpose(Rng& rng) {
  const Dims x = {OneOf(rng, {1, 4, 32}), Channels(rng), Size(rng), Size(rng)};
  if (Elements(x) > kMostElements) return "";
  const Dims y = {x[0], x[2], x[3], x[1]};
  return WorkloadText("  %0 = input() : " + DenseType("f32", x) +
                          "\n  %1 = transpose(%0) {perm=" + "[0,2,3,1]} : " + DenseType("f32", y) +
                          "\n  %2 = tanh(%1) : " + DenseType("f32", y) + "\n",
                      "%2");
}

std::string LayerText(Rng& rng) {
  const uint64_t kind = rng.Below(100);
  if (kind < 50) return Convolution(rng);
  if (kind < 70) return Product(rng);
  if (kind < 80) return Rows(rng);
  if (kind < 85) return Pool(rng);
  if (kind < 95) return Attention(rng);
  return Transpose(rng);
}

}  // namespace

RandomWorkload RandomLayer(Rng& rng) {
  RandomWorkload layer;
  while (layer.text.empty()) layer.text = LayerText(rng);
  return layer;
}

}  // namespace mlc::schedule
