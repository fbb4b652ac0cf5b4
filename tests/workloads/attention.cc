#include "tests/workloads/attention.h"

#include <algorithm>
#include <string>

#include "tests/workloads/draw.h"

namespace mlc::schedule {
namespace {

struct Shape {
  int64_t batch, heads, queries, keys, depth, width;
};

Shape RandomShape(Rng& rng) {
  return {Between(rng, 1, 2),  Between(rng, 1, 3),  Between(rng, 1, 20),
          Between(rng, 1, 70), Between(rng, 1, 20), Between(rng, 1, 40)};
}

RandomWorkload AttentionOf(Rng& rng, const Shape& s) {
  const std::string t = Chance(rng, 25) ? "f16" : "f32";
  const Dims q = {s.batch, s.heads, s.queries, s.depth};
  const Dims k = {s.batch, s.heads, s.keys, s.depth};
  const Dims v = {s.batch, s.heads, s.keys, s.width};
  const Dims o = {s.batch, s.heads, s.queries, s.width};
  const Dims masks[] = {{s.batch, s.heads, s.queries, s.keys},
                        {s.batch, 1, 1, s.keys},
                        {s.queries, s.keys},
                        {1, 1, s.queries, 1}};
  const bool masked = Chance(rng, 60);
  std::string body = "  %0 = input() : " + RandomType(rng, t, q) +
                     "\n  %1 = input() : " + RandomType(rng, t, k) +
                     "\n  %2 = input() : " + RandomType(rng, t, v) + "\n";
  if (masked) body += "  %3 = input() : " + RandomType(rng, t, masks[rng.Below(4)]) + "\n";
  const std::string id = masked ? "%4" : "%3";
  body += "  " + id + " = attention(%0, %1, %2" + (masked ? ", %3" : "") +
          ") {scale=0.37} : " + RandomType(rng, t, o) + "\n";
  RandomWorkload random = {WorkloadText(body, id)};
  if (masked && Chance(rng, 50)) {
    random.masked_operand = 3;
    random.mask_share = 0.4;
  }
  return random;
}

}  // namespace

RandomWorkload RandomAttention(Rng& rng) {
  const Shape s = RandomShape(rng);
  return AttentionOf(rng, s);
}

RandomWorkload RandomAttentionOfOneColumn(Rng& rng) {
  Shape s = RandomShape(rng);
  s.width = 1;
  return AttentionOf(rng, s);
}

RandomWorkload RandomProjectedAttention(Rng& rng) {
  const int64_t heads = Between(rng, 1, 3), length = Between(rng, 2, 40);
  const int64_t depth = Between(rng, 1, 2) * 16, row = 3 * heads * depth;
  const std::string dims = "f32[1," + std::to_string(heads) + "," + std::to_string(length) + "," +
                           std::to_string(depth) + "]";
  const std::string strides = "{" + std::to_string(length * row) + "," + std::to_string(depth) +
                              "," + std::to_string(row) + ",1}";
  const std::string merged = "{" + std::to_string(length * heads * depth) + "," +
                             std::to_string(depth) + "," + std::to_string(heads * depth) + ",1}";
  std::string body = "  %0 = input() : f32[" + std::to_string(length * row) + "]\n";
  for (int64_t part = 0; part < 3; ++part) {
    body += "  %" + std::to_string(part + 1) +
            " = view(%0) {offset=" + std::to_string(part * heads * depth) + "} : " + dims +
            strides + "\n";
  }
  body += "  %4 = tanh(%1) : " + dims + "\n  %5 = attention(%4, %2, %3) {scale=0.25} : " + dims +
          "\n  %6 = abs(%5) : " + dims + merged + "\n";
  return {WorkloadText(body, "%6")};
}

RandomWorkload RandomMaskedAttention(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16"};
  const std::string t = types[rng.Below(3)];
  const int64_t heads = Between(rng, 1, 2), queries = Between(rng, 1, 40);
  const int64_t keys = Between(rng, 1, 150), depth = 8 * Between(rng, 1, 5);
  const Dims q = {1, heads, queries, depth}, k = {1, heads, keys, depth};
  const Dims mask = Chance(rng, 50) ? Dims{queries, keys} : Dims{1, heads, 1, keys};
  const std::string scores = DenseType(t, mask);
  return {WorkloadText(
      "  %0 = input() : " + DenseType(t, q) + "\n  %1 = input() : " + DenseType(t, k) +
          "\n  %2 = input() : " + DenseType(t, k) + "\n  %3 = input() : " + scores +
          "\n  %4 = constant() {value=0.0} : " + t + "[]\n  %5 = constant() {value=-inf} : " + t +
          "[]\n  %6 = less(%3, %4) : " + DenseType("bool", mask) +
          "\n  %7 = select(%6, %5, %3) : " + scores +
          "\n  %8 = attention(%0, %1, %2, %7) {scale=0.25} : " + DenseType(t, q) + "\n",
      "%8")};
}

RandomWorkload RandomCountedAttention(Rng& rng) {
  const std::string types[] = {"f32", "f32", "f16"};
  const std::string t = types[rng.Below(3)];
  const int64_t heads = Between(rng, 1, 2), queries = Between(rng, 1, 20);
  const int64_t keys = Between(rng, 1, 200), depth = Between(rng, 1, 20);
  const int64_t width = Between(rng, 1, 40);
  const bool masked = Chance(rng, 50);
  std::string body = "  %0 = input() : " + DenseType(t, {1, heads, queries, depth}) +
                     "\n  %1 = input() : " + RandomType(rng, t, {1, heads, keys, depth}) +
                     "\n  %2 = input() : " + RandomType(rng, t, {1, heads, keys, width}) + "\n";
  if (masked) body += "  %3 = input() : " + DenseType(t, {queries, keys}) + "\n";
  const std::string count = masked ? "%4" : "%3", id = masked ? "%5" : "%4";
  body += "  " + count + " = input() : i32[1]\n  " + id + " = attention(%0, %1, %2, " +
          (masked ? "%3" : "_") + ", " + count +
          ") {scale=0.25} : " + DenseType(t, {1, heads, queries, width}) + "\n";
  RandomWorkload random = {WorkloadText(body, id)};
  random.count_operand = masked ? 4 : 3;
  random.count = Between(rng, 1, keys);
  return random;
}

RandomWorkload RandomLongAttention(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16"};
  const std::string t = types[rng.Below(3)];
  const int64_t heads = Between(rng, 1, 2), queries = Between(rng, 1, 70);
  const int64_t keys = Between(rng, 60, 300), depth = 8 * Between(rng, 1, 9);
  const int64_t width = Chance(rng, 30) ? Between(rng, 130, 150) : 8 * Between(rng, 1, 9);
  const bool masked = Chance(rng, 50);
  std::string body = "  %0 = input() : " + DenseType(t, {1, heads, queries, depth}) +
                     "\n  %1 = input() : " + DenseType(t, {1, heads, keys, depth}) +
                     "\n  %2 = input() : " + DenseType(t, {1, heads, keys, width}) + "\n";
  if (masked) body += "  %3 = weight() : " + DenseType(t, {1, 1, queries, keys}) + "\n";
  const std::string id = masked ? "%4" : "%3";
  const bool rounded = t == "f32" && Chance(rng, 40);
  body += "  " + id + " = attention(%0, %1, %2" + (masked ? ", %3" : "") + ") {" +
          (rounded ? "precision=tf32," : "") +
          "scale=0.25} : " + DenseType(t, {1, heads, queries, width}) + "\n";
  RandomWorkload random = {WorkloadText(body, id)};
  if (rounded) random.tolerance = 3e-3;
  if (masked && Chance(rng, 50)) {
    random.masked_operand = 3;
    random.mask_share = 0.5;
  }
  return random;
}

RandomWorkload RandomCausalAttention(Rng& rng) {
  const std::string types[] = {"f32", "f16", "bf16"};
  const std::string t = types[rng.Below(3)];
  const int64_t batch = Between(rng, 1, 2), heads = Between(rng, 1, 2);
  const int64_t queries = Between(rng, 2, 90), keys = Between(rng, queries, queries + 60);
  const int64_t depth = 8 * Between(rng, 1, 9);
  const std::string q = DenseType(t, {batch, heads, queries, depth});
  const std::string k = DenseType(t, {batch, heads, keys, depth});
  const std::string mask = DenseType(t, {queries, keys});
  const int64_t first = Between(rng, 1, keys - queries + 1);
  return {WorkloadText("  %0 = constant() {value=-inf} : " + mask + "\n  %1 = input() : " + q +
                           "\n  %2 = input() : " + k + "\n  %3 = input() : " + k +
                           "\n  %4 = trilu(%0) {k=" + std::to_string(first) + ",upper=1} : " +
                           mask + "\n  %5 = attention(%1, %2, %3, %4) {scale=0.25} : " + q + "\n",
                       "%5")};
}

namespace {

// Of [batch, heads, rows, width]: dense, or rows of all heads next to each other.
std::string HeadsType(const std::string& t, const Dims& d, bool merged) {
  if (!merged) return DenseType(t, d);
  return StridedType(t, d, {d[1] * d[2] * d[3], d[3], d[1] * d[3], 1});
}

// Queries, keys and values as %1, %2, %3: views of one projection.
std::string Projected(const std::string& t, const Dims& q) {
  const int64_t row = 3 * q[1] * q[3];
  std::string body = "  %0 = input() : " + DenseType(t, {q[0] * q[2] * row}) + "\n";
  for (int64_t part = 0; part < 3; ++part) {
    body += "  %" + std::to_string(part + 1) +
            " = view(%0) {offset=" + std::to_string(part * q[1] * q[3]) +
            "} : " + StridedType(t, q, {q[2] * row, q[3], row, 1}) + "\n";
  }
  return body;
}

// A causal mask that the kernel makes, as %8.
std::string LaterKeys(Rng& rng, const std::string& t, int64_t queries, int64_t keys) {
  const std::string mask = DenseType(t, {queries, keys});
  std::string body;
  for (const char* id : {"%4", "%5", "%6"}) {
    body += "  " + std::string(id) + " = constant() {value=1.0} : " + t + "[]\n";
  }
  return body + "  %7 = constant() {value=" + (Chance(rng, 50) ? "-inf" : "-40000.0") +
         "} : " + mask + "\n  %8 = trilu(%7) {k=" + std::to_string(keys - queries + 1) +
         ",upper=1} : " + mask + "\n";
}

// A mask of numbers for queries of shape `q`, as %8; some hide keys.
std::string NumbersOfKeys(Rng& rng, const std::string& t, const Dims& q, int64_t keys) {
  const Dims shapes[] = {
      {q[2], keys}, {q[0], 1, 1, keys}, {1, q[1], q[2], keys}, {keys}, {q[0], 1, q[2], 1}};
  const Dims& shape = shapes[rng.Below(5)];
  const std::string mask = DenseType(t, shape);
  const bool hides = shape.back() > 1 && Chance(rng, 50);
  return "  %4 = input() : " + mask + "\n  %5 = constant() {value=" + (hides ? "-inf" : "-2.5") +
         "} : " + t + "[]\n  %6 = constant() {value=0.0} : " + t +
         "[]\n  %7 = less(%4, %6) : " + DenseType("bool", shape) +
         "\n  %8 = select(%7, %5, %4) : " + mask + "\n";
}

}  // namespace

RandomWorkload RandomRoleAttention(Rng& rng) {
  const std::string t = Chance(rng, 50) ? "f16" : "bf16";
  const int64_t batch = Between(rng, 1, 2), heads = Between(rng, 1, 3);
  const int64_t queries = Between(rng, 48, 230), depth = 64 * Between(rng, 1, 2);
  const bool causal = Chance(rng, 50);
  const bool projected = Chance(rng, 30), shared = Chance(rng, 30), merged = Chance(rng, 40);
  const int64_t keys = projected ? std::max<int64_t>(queries, 64)
                                 : Between(rng, std::max<int64_t>(queries, 64), 300);
  const Dims q = {batch, heads, projected ? keys : queries, depth}, k = {batch, heads, keys, depth};
  std::string body;
  if (projected) {
    body = Projected(t, q);
  } else if (shared) {
    const std::string view = StridedType(t, k, {keys * depth, 0, depth, 1}) + "\n";
    const std::string one = DenseType(t, {batch, 1, keys, depth}) + "\n";
    body = "  %0 = input() : " + one + "  %1 = input() : " + HeadsType(t, q, merged) +
           "\n  %2 = view(%0) {offset=0} : " + view +
           "  %3 = input() : " + HeadsType(t, k, merged) + "\n";
  } else {
    body = "  %0 = constant() {value=0.0} : " + t +
           "[]\n  %1 = input() : " + HeadsType(t, q, merged) +
           "\n  %2 = input() : " + HeadsType(t, k, merged) +
           "\n  %3 = input() : " + HeadsType(t, k, merged) + "\n";
  }
  const bool added = !causal && Chance(rng, 60);
  body += added ? NumbersOfKeys(rng, t, q, keys) : LaterKeys(rng, t, q[2], keys);
  body += std::string("  %9 = attention(%1, %2, %3") + (causal || added ? ", %8" : "") +
          ") {scale=0.3} : " + HeadsType(t, q, Chance(rng, 50)) + "\n";
  std::string result = "%9";
  if (Chance(rng, 30)) {
    result = "%10";
    body += "  %10 = tanh(%9) : " + HeadsType(t, q, Chance(rng, 50)) + "\n";
  }
  return {WorkloadText(body, result, t == "f16" ? "2e-3" : "2e-2")};
}

}  // namespace mlc::schedule
