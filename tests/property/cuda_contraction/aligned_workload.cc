#include "tests/property/cuda_contraction/aligned_workload.h"

#include <vector>

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::schedule {
namespace {

using Dims = std::vector<int64_t>;

int64_t Between(Rng& rng, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(high - low + 1)));
}
bool Chance(Rng& rng, int percent) { return rng.Below(100) < static_cast<uint64_t>(percent); }

std::string Type(const std::string& dtype, const Dims& dims, const Dims& strides = {}) {
  std::string text = dtype + IntListToText(dims);
  if (strides.empty()) return text;
  std::string list = IntListToText(strides);
  list.front() = '{';
  list.back() = '}';
  return text + list;
}

// The last two dimensions exchanged in memory.
std::string MaybeTransposed(Rng& rng, const std::string& dtype, const Dims& dims) {
  if (Chance(rng, 60)) return Type(dtype, dims);
  Dims strides = graph::DenseStrides(dims);
  const size_t r = dims.size();
  strides[r - 2] = 1;
  strides[r - 1] = dims[r - 2];
  return Type(dtype, dims, strides);
}

std::string Finish(Rng& rng, const std::string& body, int values, const std::string& bias,
                   const std::string& out) {
  std::string text = body;
  std::string value = "%" + std::to_string(values - 1);
  if (!bias.empty()) {
    text += "  %" + std::to_string(values) + " = weight() : " + bias + "\n";
    text += "  %" + std::to_string(values + 1) + " = add(" + value + ", %" +
            std::to_string(values) + ") : " + out + "\n";
    value = "%" + std::to_string(values + 1);
    values += 2;
  }
  if (Chance(rng, 50)) {
    text += "  %" + std::to_string(values) + " = input() : " + out + "\n";
    text += "  %" + std::to_string(values + 1) + " = add(" + value + ", %" +
            std::to_string(values) + ") : " + out + "\n";
    value = "%" + std::to_string(values + 1);
    values += 2;
  }
  if (Chance(rng, 50)) {
    text += "  %" + std::to_string(values) + " = abs(" + value + ") : " + out + "\n";
    value = "%" + std::to_string(values);
  }
  return "workload v1 tolerance=1e-3 {\n" + text + "  return " + value + "\n}\n";
}

}  // namespace

std::string AlignedProduct(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t m = Chance(rng, 50) ? Between(rng, 1, 20) * 8 : Between(rng, 1, 100);
  const int64_t n = Between(rng, 1, 20) * 8;
  const int64_t k = Between(rng, 1, Chance(rng, 30) ? 80 : 20) * 8;
  Dims a = {m, k}, b = {k, n}, y = {m, n};
  const bool weight = Chance(rng, 50);
  if (Chance(rng, 30)) {
    const int64_t batch = Between(rng, 2, 3);
    a.insert(a.begin(), batch);
    y.insert(y.begin(), batch);
    if (!weight) b.insert(b.begin(), batch);
  }
  const std::string attrs = attributes.empty() ? "" : " {" + attributes + "}";
  const std::string body = "  %0 = input() : " + MaybeTransposed(rng, dtype, a) +
                           "\n  %1 = " + (weight ? "weight" : "input") +
                           "() : " + MaybeTransposed(rng, dtype, b) + "\n  %2 = matmul(%0, %1)" +
                           attrs + " : " + Type(dtype, y) + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? Type(dtype, {n}) : "", Type(dtype, y));
}

std::string AlignedConvolution(Rng& rng, const std::string& dtype, const std::string& attributes) {
  const int64_t group = Chance(rng, 85) ? 1 : 2;
  const int64_t depth = Between(rng, 1, 8) * 8;
  const int64_t columns = Between(rng, 1, 10) * 8;
  const int64_t batch = Between(rng, 1, 2);
  Dims x = {batch, group * depth}, w = {group * columns, depth}, y = {batch, group * columns};
  Dims strides, dilations, pads(4);
  const bool pointwise = Chance(rng, 30);
  for (size_t s = 0; s < 2; ++s) {
    const int64_t in = Between(rng, 3, 9);
    const int64_t kernel = pointwise ? 1 : Between(rng, 1, 3);
    dilations.push_back(kernel > 1 && in > 6 && Chance(rng, 20) ? 2 : 1);
    strides.push_back(Between(rng, 1, 2));
    pads[s] = pointwise ? 0 : Between(rng, 0, 1);
    pads[s + 2] = pointwise ? 0 : Between(rng, 0, 1);
    const int64_t reach = (kernel - 1) * dilations[s] + 1;
    x.push_back(in);
    w.push_back(kernel);
    y.push_back((in + pads[s] + pads[s + 2] - reach) / strides[s] + 1);
  }
  const std::string out = Type(dtype, y, graph::ChannelsLastStrides(y));
  const std::string extra = attributes.empty() ? "" : "," + attributes;
  const std::string body = "  %0 = input() : " + Type(dtype, x, graph::ChannelsLastStrides(x)) +
                           "\n  %1 = weight() : " + Type(dtype, w) +
                           "\n  %2 = conv(%0, %1) {dilations=" + IntListToText(dilations) +
                           ", group=" + std::to_string(group) + ", pads=" + IntListToText(pads) +
                           extra + ", strides=" + IntListToText(strides) + "} : " + out + "\n";
  return Finish(rng, body, 3, Chance(rng, 60) ? Type(dtype, {group * columns, 1, 1}) : "", out);
}

}  // namespace mlc::schedule
