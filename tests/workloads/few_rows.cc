#include "tests/workloads/few_rows.h"

#include <utility>

#include "tests/workloads/draw.h"
#include "tests/workloads/node_writer.h"

namespace mlc::schedule {
namespace {

std::string Call(const std::string& op, const std::vector<int>& operands,
                 const std::string& attributes, const std::string& type) {
  std::string text = op + "(";
  for (size_t i = 0; i < operands.size(); ++i) text += (i > 0 ? ", " : "") + V(operands[i]);
  return text + ")" + (attributes.empty() ? "" : " {" + attributes + "}") + " : " + type;
}

// Rows of the type that are a norm of an operand.
int Normed(Rng& rng, NodeWriter& t, const std::string& dtype, int64_t m, int64_t k) {
  const std::string wide = DenseType("f32", {m, k}), own = DenseType(dtype, {m, k});
  const bool widens = dtype != "f32" && Chance(rng, 60);
  int x = t.Input(widens ? own : wide);
  if (widens) x = t.Add(Call("cast", {x}, "", wide));
  const std::string attributes = "axis=1, epsilon=0.001, kind=rms";
  int y = 0;
  if (Chance(rng, 30)) {
    const int scale =
        t.Add((Chance(rng, 70) ? "weight() : " : "input() : ") + DenseType("f32", {k}));
    y = t.Add("layer_norm(" + V(x) + ", " + V(scale) + ", _) {" + attributes + "} : " + wide);
  } else {
    y = t.Add("layer_norm(" + V(x) + ", _, _) {" + attributes + "} : " + wide);
  }
  if (dtype != "f32") y = t.Add(Call("cast", {y}, "", own));
  if (dtype == "f32" && Chance(rng, 50)) return y;
  const int factor = t.Add("weight() : " + DenseType(dtype, {k}));
  return t.Add(Call("mul", {y, factor}, "", own));
}

enum class Kind { kNumbers, kFewBits, kFloat8 };

// One scale for each column, or for each block of it.
int Float8Columns(Rng& rng, NodeWriter& t, const std::string& dtype, int64_t k, int64_t n) {
  const int64_t block = Chance(rng, 50) ? k : 32 * Between(rng, 1, 4);
  const std::string type = Chance(rng, 70) ? "f8e4m3fn" : "f8e5m2";
  const int codes = t.Add("weight() : " + DenseType(type, {n, k}));
  const int scales = t.Add("weight() : " + DenseType(dtype, {n, (k + block - 1) / block}));
  return t.Add(Call("dequantize", {codes, scales},
                    "bits=8, block=" + std::to_string(block) + ", depth=" + std::to_string(k),
                    DenseType(dtype, {k, n})));
}

// Columns of the type.
int Columns(Rng& rng, NodeWriter& t, const std::string& dtype, int64_t k, int64_t n, Kind kind) {
  if (kind == Kind::kFloat8) return Float8Columns(rng, t, dtype, k, n);
  if (kind == Kind::kNumbers) {
    const bool transposed = Chance(rng, 50);
    return t.Add("weight() : " + dtype + "[" + std::to_string(k) + "," + std::to_string(n) + "]" +
                 (transposed ? "{1," + std::to_string(k) + "}" : ""));
  }
  const int64_t bits = int64_t{2} << rng.Below(3), block = 32;
  const int64_t blocks = (k + block - 1) / block, bytes = (k * bits + 7) / 8;
  const int codes = t.Add("weight() : " + DenseType("u8", {n, bytes}));
  const int scales = t.Add("weight() : " + DenseType(dtype, {n, blocks}));
  return t.Add(Call("dequantize", {codes, scales},
                    "bits=" + std::to_string(bits) + ", block=" + std::to_string(block) +
                        ", depth=" + std::to_string(k) +
                        ", zero=" + std::to_string(int64_t{1} << (bits - 1)),
                    DenseType(dtype, {k, n})));
}

int Gated(NodeWriter& t, int product, const std::string& dtype, int64_t m, int64_t n) {
  const std::string half = DenseType(dtype, {m, n});
  const int gate = t.Add(Call("slice", {product}, "starts=[0,0], steps=[1,1]", half));
  const int up =
      t.Add(Call("slice", {product}, "starts=[0," + std::to_string(n) + "], steps=[1,1]", half));
  const int sigmoid = t.Add(Call("sigmoid", {gate}, "", half));
  const int silu = t.Add(Call("mul", {gate, sigmoid}, "", half));
  return t.Add(Call("mul", {silu, up}, "", half));
}

std::string Product(Rng& rng, const std::string& dtype, Kind kind) {
  NodeWriter t;
  const bool is_normed = Chance(rng, 70), is_gated = !is_normed || Chance(rng, 50);
  const int64_t m = Chance(rng, 50) ? 1 : Between(rng, 1, 4), n = Between(rng, 1, 90);
  const int64_t k = Chance(rng, 60) ? 64 * Between(rng, 1, 24) : Between(rng, 1, 1300);
  const int rows = is_normed ? Normed(rng, t, dtype, m, k) : t.Input(DenseType(dtype, {m, k}));
  const int64_t columns = is_gated ? 2 * n : n;
  const int matrix = Columns(rng, t, dtype, k, columns, kind);
  int y = t.Add(Call("matmul", {rows, matrix}, "", DenseType(dtype, {m, columns})));
  if (is_gated) y = Gated(t, y, dtype, m, n);
  if (Chance(rng, 30)) {
    const int residual = t.Input(DenseType(dtype, {m, n}));
    y = t.Add(Call("add", {y, residual}, "", DenseType(dtype, {m, n})));
  }
  return t.Return({y});
}

}  // namespace

std::string FewRowsProduct(Rng& rng, const std::string& dtype, bool is_packed) {
  return Product(rng, dtype, is_packed ? Kind::kFewBits : Kind::kNumbers);
}

std::string FewRowsOfFloat8(Rng& rng, const std::string& dtype) {
  return Product(rng, dtype, Kind::kFloat8);
}

RandomWorkload RandomCacheUpdate(Rng& rng) {
  NodeWriter t;
  const int64_t positions = Between(rng, 2, 20), heads = Between(rng, 1, 5);
  const int64_t half = Between(rng, 1, 9), size = 2 * half;
  const std::string type = Chance(rng, 50) ? "bf16" : "f32";
  const std::string cache = type + "[" + std::to_string(positions) + "," + std::to_string(heads) +
                            ",1," + std::to_string(size) + "]";
  const bool swapped = Chance(rng, 50);
  const std::string strides = "{" + std::to_string(size) + "," + std::to_string(positions * size) +
                              "," + std::to_string(size) + ",1}";
  const int data = t.Input(cache + (swapped ? strides : ""));
  const int place = t.Input(DenseType("i64", {1, 1}));
  const std::string turned = DenseType(type, {1, heads, 2, half});
  const int x = t.Input(turned), cosine = t.Input(DenseType(type, {2, half}));
  const int other = t.Add(Call("slice", {x}, "starts=[0,0,1,0], steps=[1,1,-1,1]", turned));
  const int product = t.Add(Call("mul", {other, cosine}, "", turned));
  const int sum = t.Add(Call("add", {x, product}, "", turned));
  const int updates = t.Add(Call("reshape", {sum}, "", DenseType(type, {1, heads, 1, size})));
  const int scatter = t.Add(Call("scatter_nd", {data, place, updates}, "reduction=none",
                                 cache + (swapped ? strides : "")));
  std::vector<int> results = {scatter};
  if (Chance(rng, 40)) {
    const int second = t.Input(cache + (swapped ? strides : ""));
    const int values = t.Input(DenseType(type, {1, heads, 1, size}));
    results.push_back(t.Add(Call("scatter_nd", {second, place, values}, "reduction=none",
                                 cache + (swapped ? strides : ""))));
    if (Chance(rng, 50)) std::swap(results[0], results[1]);
  }
  for (int i = 0; Chance(rng, 60) && i < 2; ++i) {
    const Dims dims = {Between(rng, 1, 4), Between(rng, 1, 70)};
    const int y = t.Input(RandomType(rng, type, dims));
    results.push_back(t.Add(Call("abs", {y}, "", DenseType(type, dims))));
  }
  return {t.Return(results)};
}

}  // namespace mlc::schedule
