#include "tests/workloads/pointwise.h"

#include <algorithm>

#include "base/text.h"
#include "tests/workloads/draw.h"
#include "tests/workloads/node_writer.h"

namespace mlc::schedule {
namespace {

Dims RandomDims(Rng& rng) {
  Dims dims;
  const int64_t rank = Between(rng, 1, 4);
  for (int64_t d = 0; d < rank; ++d) dims.push_back(Between(rng, 1, d + 1 == rank ? 40 : 9));
  return dims;
}

Dims Broadcast(Rng& rng, Dims dims) {
  for (int64_t& d : dims) {
    if (Chance(rng, 30)) d = 1;
  }
  const int64_t drop = Between(rng, 0, static_cast<int64_t>(dims.size()));
  dims.erase(dims.begin(), dims.begin() + (Chance(rng, 30) ? drop : 0));
  return dims;
}

}  // namespace

RandomWorkload RandomChain(Rng& rng) {
  const Dims dims = RandomDims(rng);
  const std::string float_types[] = {"f32", "f32", "f32", "f16", "bf16", "f64"};
  const std::string dtype = float_types[rng.Below(6)];
  const Dims other = Broadcast(rng, dims);
  NodeWriter t;
  const int a = t.Input(RandomType(rng, dtype, dims));
  const int b = t.Input(RandomType(rng, dtype, other));
  const std::string type = DenseType(dtype, dims);
  const std::string half = t.Add("constant() {value=0.5} : " + dtype + "[]") >= 0 ? "%2" : "";
  const int sum = t.Add("add(" + V(a) + ", " + V(b) + ") : " + type);
  const int erf = t.Add("erf(" + V(sum) + ") : " + type);
  const int scaled = t.Add("mul(" + V(erf) + ", " + half + ") : " + type);
  // Of operands, as narrow sums may round either way.
  const int less = t.Add("less(" + V(b) + ", " + V(a) + ") : " + DenseType("bool", dims));
  const int last = t.Add("select(" + V(less) + ", " + V(scaled) + ", " + V(sum) +
                         ") : " + RandomType(rng, dtype, dims));
  return {t.Return(Chance(rng, 50) ? std::vector<int>{last} : std::vector<int>{last, sum})};
}

RandomWorkload RandomIntegers(Rng& rng) {
  const Dims dims = RandomDims(rng);
  const std::string types[] = {"i8", "u8", "i16", "i32", "i64"};
  const std::string dtype = types[rng.Below(5)];
  NodeWriter t;
  const int a = t.Input(RandomType(rng, dtype, dims));
  const int b = t.Input(RandomType(rng, dtype, Broadcast(rng, dims)));
  const std::string type = DenseType(dtype, dims);
  const int product = t.Add("mul(" + V(a) + ", " + V(b) + ") : " + type);
  const int four = t.Add("constant() {value=4.0} : " + dtype + "[]");
  const int quotient = t.Add("div(" + V(product) + ", " + V(four) + ") : " + type);
  const int equal =
      t.Add("equal(" + V(product) + ", " + V(quotient) + ") : " + DenseType("bool", dims));
  const int cast = t.Add("cast(" + V(quotient) + ") : " + DenseType("f32", dims));
  const int neither = t.Add("not(" + V(equal) + ") : " + RandomType(rng, "bool", dims));
  return {t.Return({cast, neither})};
}

RandomWorkload RandomScanOrScatter(Rng& rng) {
  const Dims dims = {Between(rng, 3, 6), Between(rng, 3, 9), Between(rng, 3, 40)};
  const std::string axis = std::to_string(rng.Below(3));
  const size_t at = static_cast<size_t>(axis[0] - '0');
  NodeWriter t;
  const int x = t.Input(RandomType(rng, "f32", dims));
  int y = 0;
  const uint64_t kind = rng.Below(4);
  if (kind == 0) {
    y = t.Add("cum_sum(" + V(x) + ") {axis=" + axis + ",exclusive=" + std::to_string(rng.Below(2)) +
              ",reverse=" + std::to_string(rng.Below(2)) + "} : " + DenseType("f32", dims));
    y = t.Add("abs(" + V(y) + ") : " + RandomType(rng, "f32", dims));
  } else if (kind == 1) {
    Dims out = dims;
    const bool keep = Chance(rng, 50);
    out[at] = 1;
    if (!keep) out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
    y = t.Add("arg(" + V(x) + ") {axis=" + axis + ",keepdims=" + (keep ? "1" : "0") +
              ",kind=" + (Chance(rng, 50) ? "max" : "min") +
              ",select_last=" + std::to_string(rng.Below(2)) + "} : " + DenseType("i64", out));
  } else {
    const std::string reductions[] = {"none", "add", "mul", "max", "min"};
    const bool elements = kind == 2;
    // Without a reduction, colliding updates have no defined order in the operator's definition;
    // one update cannot collide.
    const std::string reduction = reductions[rng.Below(5)];
    const bool single = reduction == "none";
    const int64_t count = single ? 1 : Between(rng, 1, 4);
    Dims update = elements ? Dims{count, count, count} : Dims{count, dims[2]};
    if (elements && !single) update[at] = Between(rng, 1, 5);
    for (size_t k = 0; elements && k < 3; ++k) {
      if (k != at) update[k] = std::min(update[k], dims[k]);
    }
    const int index = t.Input(DenseType("i64", elements ? update : Dims{count, 2}));
    const int updates = t.Input(RandomType(rng, "f32", update));
    y = t.Add(std::string(elements ? "scatter_elements(" : "scatter_nd(") + V(x) + ", " + V(index) +
              ", " + V(updates) + ") {" + (elements ? "axis=" + axis + "," : "") +
              "reduction=" + reduction + "} : " + RandomType(rng, "f32", dims));
  }
  return {t.Return({y})};
}

RandomWorkload RandomSelection(Rng& rng) {
  NodeWriter t;
  if (Chance(rng, 40)) {
    const int64_t count = Between(rng, 1, 200);
    const int x = t.Input(DenseType("bool", {count}));
    const Dims room = {count + Between(rng, 0, 5)};
    return {t.Return({t.Add("nonzero(" + V(x) + ") : " + DenseType("i64", room))})};
  }
  const int64_t batch = Between(rng, 1, 3), classes = Between(rng, 1, 4);
  const int64_t boxes = Between(rng, 1, 60);
  const int corners = t.Input(RandomType(rng, "f32", {batch, boxes, 4}));
  const int scores =
      t.Input(RandomType(rng, Chance(rng, 80) ? "f32" : "f16", {batch, classes, boxes}));
  const int most = t.Input(DenseType("i64", {1}));
  const int overlap =
      t.Add("constant() {value=" + std::string(Chance(rng, 50) ? "0.25" : "0") + "} : f32[1]");
  const int least =
      t.Add("constant() {value=" + std::string(Chance(rng, 50) ? "-0.5" : "-inf") + "} : f32[1]");
  const Dims result = {batch, classes, Between(rng, 1, boxes)};
  return {t.Return({t.Add("suppress(" + V(corners) + ", " + V(scores) + ", " + V(most) + ", " +
                          V(overlap) + ", " + V(least) + ") {center=" +
                          std::to_string(rng.Below(2)) + "} : " + DenseType("i64", result))})};
}

RandomWorkload RandomWideVectors(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16", "u8", "bool"};
  const std::string t = types[rng.Below(5)];
  const Dims dims = {Between(rng, 1, 5), Between(rng, 1, 9), 16 * Between(rng, 1, 9)};
  const Dims row = {dims[2]};
  // Exact in every type: narrow sums may round either way.
  const std::string op = t == "bool" ? "and" : "max";
  std::string body = "  %0 = input() : " + RandomType(rng, t, dims) +
                     "\n  %1 = weight() : " + DenseType(t, row) + "\n  %2 = " + op +
                     "(%0, %1) : " + DenseType(t, dims) +
                     "\n  %3 = cast(%2) : " + DenseType("f32", dims) + "\n";
  return {WorkloadText(body, Chance(rng, 50) ? "%2" : "%2, %3")};
}

}  // namespace mlc::schedule
