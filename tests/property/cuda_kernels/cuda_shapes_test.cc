// Shapes that only the families for GPUs treat specially: tiles of transposes, wide vectors of
// narrow types, reductions that blocks share, rows of several warps, attention over chunks of keys
// and slices of values. All agree with the reference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/kernel_check/kernel_check.h"

namespace mlc::schedule {
namespace {

using Dims = std::vector<int64_t>;

std::string Workload(const std::string& body, const std::string& outputs) {
  return "workload v1 tolerance=1e-4 {\n" + body + "  return " + outputs + "\n}\n";
}

CheckOptions Configs(int count) {
  CheckOptions options;
  options.configs = count;
  return options;
}

TEST(CudaShapes, TransposesThroughTiles) {
  Rng rng(51);
  const std::string types[] = {"f32", "f16", "bf16", "i8", "f64"};
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const std::string t = types[rng.Below(5)];
    const int64_t n = Between(rng, 1, 2);
    const int64_t a = Chance(rng, 50) ? 16 * Between(rng, 1, 6) : Between(rng, 16, 100);
    const int64_t b = Chance(rng, 50) ? 16 * Between(rng, 1, 6) : Between(rng, 16, 100);
    const std::string from = DenseType(t, {n, a, b}), to = DenseType(t, {n, b, a});
    const std::string turned = ") {perm=[0,2,1]} : " + to + "\n";
    const bool alone = Chance(rng, 40);
    const std::string body = alone ? "  %0 = input() : " + from + "\n  %1 = transpose(%0" + turned +
                                         "  %2 = copy(%1) : " + to + "\n"
                                   : "  %0 = input() : " + from + "\n  %1 = input() : " + to +
                                         "\n  %2 = transpose(%0" + turned +
                                         "  %3 = add(%2, %1) : " + to + "\n";
    CheckFamily(rng, Workload(body, alone ? "%2" : "%3"), "pointwise", Configs(4));
  }
}

TEST(CudaShapes, WideVectors) {
  Rng rng(52);
  const std::string types[] = {"f32", "f16", "bf16", "u8", "bool"};
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const std::string t = types[rng.Below(5)];
    const Dims dims = {Between(rng, 1, 5), Between(rng, 1, 9), 16 * Between(rng, 1, 9)};
    const Dims row = {dims[2]};
    // Exact in every type: narrow sums may round either way.
    const std::string op = t == "bool" ? "and" : "max";
    std::string body = "  %0 = input() : " + RandomType(rng, t, dims) +
                       "\n  %1 = weight() : " + DenseType(t, row) + "\n  %2 = " + op +
                       "(%0, %1) : " + DenseType(t, dims) +
                       "\n  %3 = cast(%2) : " + DenseType("f32", dims) + "\n";
    CheckFamily(rng, Workload(body, Chance(rng, 50) ? "%2" : "%2, %3"), "pointwise", Configs(4));
  }
}

TEST(CudaShapes, ReductionsThatBlocksShare) {
  Rng rng(53);
  const std::string kinds[] = {"sum", "mean", "max", "l2"};
  const std::string types[] = {"f32", "f16", "i32", "f64"};
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
    const bool columns = Chance(rng, 50);
    const Dims dims = columns ? Dims{Between(rng, 300, 900), 8 * Between(rng, 1, 4)}
                              : Dims{Between(rng, 1, 3), Between(rng, 2000, 6000)};
    const Dims kept = {dims[columns ? 1 : 0]};
    const std::string t = types[rng.Below(4)];
    const std::string kind = kinds[t == "i32" ? 2 * rng.Below(2) : rng.Below(4)];
    const std::string body = "  %0 = input() : " + DenseType(t, dims) +
                             "\n  %1 = reduce(%0) {axes=[" + (columns ? "0" : "1") +
                             "],keepdims=0,kind=" + kind + "} : " + DenseType(t, kept) + "\n";
    CheckOptions options = Configs(4);
    options.tolerance = 1e-5;
    CheckFamily(rng, Workload(body, "%1"), "row_reduce", options);
  }
}

TEST(CudaShapes, RowsOfSeveralWarps) {
  Rng rng(54);
  const std::string types[] = {"f32", "f16", "bf16"};
  for (int i = 0; i < 16 && !HasFailure(); ++i) {
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
    CheckFamily(rng, Workload(body, norm ? "%5" : "%2"), "row_reduce", Configs(4));
  }
}

TEST(CudaShapes, AttentionOverChunksAndSlices) {
  Rng rng(55);
  const std::string types[] = {"f32", "f16", "bf16"};
  for (int i = 0; i < 16 && !HasFailure(); ++i) {
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
    CheckOptions options = Configs(4);
    if (rounded) options.tolerance = 3e-3;
    if (masked && Chance(rng, 50)) {
      options.masked_operand = 3;
      options.mask_share = 0.5;
    }
    CheckFamily(rng, Workload(body, id), "attention", options);
  }
}

}  // namespace
}  // namespace mlc::schedule
