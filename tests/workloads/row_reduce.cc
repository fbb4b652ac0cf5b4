#include "tests/workloads/row_reduce.h"

#include <utility>

#include "base/text.h"
#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

Dims RandomDims(Rng& rng) {
  Dims dims;
  const int64_t rank = Between(rng, 1, 4);
  for (int64_t d = 0; d < rank; ++d) {
    dims.push_back(Chance(rng, 10) ? 1 : Between(rng, 1, d + 1 == rank ? 90 : 20 / rank + 1));
  }
  return dims;
}

std::string DTypeOf(Rng& rng) {
  const std::string types[] = {"f32", "f32", "f32", "f16", "bf16", "f64"};
  return types[rng.Below(6)];
}

}  // namespace

RandomWorkload RandomSoftmax(Rng& rng) {
  const Dims dims = RandomDims(rng);
  const std::string t = DTypeOf(rng);
  const std::string axis = std::to_string(rng.Below(dims.size()));
  const std::string type = DenseType(t, dims);
  const std::string op = Chance(rng, 70) ? "softmax" : "log_softmax";
  std::string text = WorkloadText(
      "  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = constant() {value=3.0} : " + t +
          "[]\n  %2 = mul(%0, %1) : " + type + "\n  %3 = " + op + "(%2) {axis=" + axis +
          "} : " + type + "\n  %4 = add(%3, %1) : " + RandomType(rng, t, dims) + "\n",
      Chance(rng, 50) ? "%4" : "%3");
  return {std::move(text)};
}

RandomWorkload RandomLayerNorm(Rng& rng) {
  const Dims dims = RandomDims(rng);
  const std::string t = DTypeOf(rng);
  const int64_t axis = Between(rng, 0, static_cast<int64_t>(dims.size()) - 1);
  const Dims scale(dims.begin() + axis, dims.end());
  const std::string type = DenseType(t, dims);
  const uint64_t kind = rng.Below(3);
  const std::string parameters = kind == 0 ? "" : kind == 1 ? ", %2" : ", %2, %3";
  const uint64_t centered = rng.Below(100);
  const std::string norm = centered < 60 ? "" : centered < 85 ? ",kind=rms" : ",kind=l2";
  std::string text =
      WorkloadText("  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = input() : " +
                       RandomType(rng, t, dims) + "\n  %2 = weight() : " + DenseType(t, scale) +
                       "\n  %3 = weight() : " + DenseType(t, scale) +
                       "\n  %4 = add(%0, %1) : " + RandomType(rng, t, dims) +
                       "\n  %5 = layer_norm(%4" + parameters + ") {axis=" + std::to_string(axis) +
                       ",epsilon=0.01" + norm + "} : " + RandomType(rng, t, dims) + "\n",
                   Chance(rng, 50) ? "%5" : "%5, %4");
  return {std::move(text)};
}

RandomWorkload RandomReduction(Rng& rng) {
  const std::string kinds[] = {"sum", "mean", "max",        "min",        "prod",
                               "l1",  "l2",   "sum_square", "log_sum_exp"};
  const Dims dims = RandomDims(rng);
  const bool integers = Chance(rng, 20);
  const std::string t = integers ? (Chance(rng, 50) ? "i64" : "i32") : DTypeOf(rng);
  std::string kind = kinds[rng.Below(9)];
  if (integers && (kind == "mean" || kind == "l2" || kind == "log_sum_exp")) kind = "max";
  const bool keep = Chance(rng, 50);
  Dims axes, out;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool reduced = Chance(rng, 50) || (axes.empty() && d + 1 == dims.size());
    if (reduced) axes.push_back(static_cast<int64_t>(d));
    if (!reduced || keep) out.push_back(reduced ? 1 : dims[d]);
  }
  std::string text = WorkloadText(
      "  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = neg(%0) : " + DenseType(t, dims) +
          "\n  %2 = reduce(%1) {axes=" + IntListToText(axes) + ",keepdims=" + (keep ? "1" : "0") +
          ",kind=" + kind + "} : " + DenseType(t, out) +
          "\n  %3 = abs(%2) : " + RandomType(rng, t, out) + "\n",
      "%3");
  return {std::move(text)};
}

RandomWorkload RandomLongRows(Rng& rng) {
  const std::string kinds[] = {"sum", "mean", "max", "min", "l1", "l2", "sum_square"};
  const int64_t columns = Between(rng, 1, 90);
  const std::pair<Dims, Dims> shapes[] = {
      {{Between(rng, 8192, 20000)}, {0}},
      {{Between(rng, 1, 2), Between(rng, 8192, 12000)}, {1}},
      {{Between(rng, 8192, 12000) / columns + 1, columns}, {0, 1}},
      {{3, Between(rng, 3000, 4000)}, {0, 1}},
      {{Between(rng, 8192, 12000) / columns + 1, columns}, {0}}};
  const auto& [dims, axes] = shapes[rng.Below(5)];
  Dims out;
  for (size_t d = axes.size() == dims.size() ? dims.size() : 0; d < dims.size(); ++d) {
    if (static_cast<int64_t>(d) != axes[0]) out.push_back(dims[d]);
  }
  const std::string t = Chance(rng, 20) ? "f16" : "f32";
  RandomWorkload random = {WorkloadText(
      "  %0 = input() : " + DenseType(t, dims) + "\n  %1 = reduce(%0) {axes=" +
          IntListToText(axes) + ",keepdims=0,kind=" + kinds[rng.Below(7)] +
          "} : " + DenseType(t, out) + "\n  %2 = neg(%1) : " + DenseType(t, out) + "\n",
      "%2")};
  random.tolerance = 1e-4;
  return random;
}

RandomWorkload RandomImageNorms(Rng& rng) {
  const int64_t channels = Between(rng, 1, 40);
  const int64_t height = Between(rng, 40, 70);
  const Dims dims = {Between(rng, 1, 2), channels, height,
                     Between(rng, 10000, 14000) / (channels * height) + 1};
  const std::string t = Chance(rng, 20) ? "f16" : "f32";
  const std::string type = DenseType(t, dims);
  const std::string result = Chance(rng, 60) ? ChannelsLastType(t, dims) : type;
  std::string text =
      WorkloadText("  %0 = input() : " + (Chance(rng, 60) ? ChannelsLastType(t, dims) : type) +
                       "\n  %1 = weight() : " + DenseType(t, {channels, 1, 1}) +
                       "\n  %2 = layer_norm(%0) {axis=" + std::to_string(Between(rng, 1, 2)) +
                       ",epsilon=0.01} : " + type + "\n  %3 = mul(%2, %1) : " + result + "\n",
                   "%3");
  return {std::move(text)};
}

RandomWorkload RandomMaskedRows(Rng& rng) {
  const Dims dims = {Between(rng, 1, 5), Between(rng, 4, 90)};
  RandomWorkload random = {
      WorkloadText("  %0 = input() : " + RandomType(rng, "f32", dims) +
                       "\n  %1 = softmax(%0) {axis=1} : " + DenseType("f32", dims) + "\n",
                   "%1")};
  random.masked_operand = 0;
  random.mask_share = 0.5;
  return random;
}

RandomWorkload RandomSharedReduction(Rng& rng) {
  const std::string kinds[] = {"sum", "mean", "max", "l2"};
  const std::string types[] = {"f32", "f16", "i32", "f64"};
  const bool columns = Chance(rng, 50);
  const Dims dims = columns ? Dims{Between(rng, 300, 900), 8 * Between(rng, 1, 4)}
                            : Dims{Between(rng, 1, 3), Between(rng, 2000, 6000)};
  const Dims kept = {dims[columns ? 1 : 0]};
  const std::string t = types[rng.Below(4)];
  const std::string kind = kinds[t == "i32" ? 2 * rng.Below(2) : rng.Below(4)];
  const std::string body = "  %0 = input() : " + DenseType(t, dims) +
                           "\n  %1 = reduce(%0) {axes=[" + (columns ? "0" : "1") +
                           "],keepdims=0,kind=" + kind + "} : " + DenseType(t, kept) + "\n";
  return {WorkloadText(body, "%1")};
}

RandomWorkload RandomWideRows(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16"};
  const std::string t = types[rng.Below(3)];
  const Dims dims = {Between(rng, 1, 5),
                     Chance(rng, 50) ? 8 * Between(rng, 30, 200) : Between(rng, 200, 900)};
  const std::string type = DenseType(t, dims);
  const std::string row = DenseType(t, {dims[1]});
  const bool norm = Chance(rng, 50);
  std::string body = "  %0 = input() : " + type + "\n";
  if (norm) {
    body += "  %1 = input() : " + type + "\n  %2 = weight() : " + row +
            "\n  %3 = weight() : " + row + "\n  %4 = add(%0, %1) : " + type +
            "\n  %5 = layer_norm(%4, %2, %3) {axis=1,epsilon=0.001} : " + type + "\n";
  } else {
    body += "  %1 = abs(%0) : " + type + "\n  %2 = softmax(%1) {axis=1} : " + type + "\n";
  }
  return {WorkloadText(body, norm ? "%5" : "%2")};
}

}  // namespace mlc::schedule
