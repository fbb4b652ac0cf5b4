// Random softmax, layer norm and reduction workloads with prologues and epilogues agree with the
// reference, interpreted for random targets and compiled for this machine.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "compiler/base/text.h"
#include "tests/property/kernel_check/kernel_check.h"

namespace mlc::schedule {
namespace {

using Dims = std::vector<int64_t>;

Dims RandomDims(Rng& rng) {
  Dims dims;
  const int64_t rank = Between(rng, 1, 4);
  for (int64_t d = 0; d < rank; ++d) {
    dims.push_back(Chance(rng, 10) ? 1 : Between(rng, 1, d + 1 == rank ? 90 : 20 / rank + 1));
  }
  return dims;
}

std::string Wrap(const std::string& body, const std::string& outputs) {
  return "workload v1 tolerance=1e-4 {\n" + body + "  return " + outputs + "\n}\n";
}

std::string DTypeOf(Rng& rng) {
  const std::string types[] = {"f32", "f32", "f32", "f16", "bf16", "f64"};
  return types[rng.Below(6)];
}

TEST(RowReduceProperty, Softmax) {
  Rng rng(11);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Dims dims = RandomDims(rng);
    const std::string t = DTypeOf(rng);
    const std::string axis = std::to_string(rng.Below(dims.size()));
    const std::string type = DenseType(t, dims);
    const std::string op = Chance(rng, 70) ? "softmax" : "log_softmax";
    const std::string text = Wrap(
        "  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = constant() {value=3.0} : " + t +
            "[]\n  %2 = mul(%0, %1) : " + type + "\n  %3 = " + op + "(%2) {axis=" + axis +
            "} : " + type + "\n  %4 = add(%3, %1) : " + RandomType(rng, t, dims) + "\n",
        Chance(rng, 50) ? "%4" : "%3");
    CheckFamily(rng, text, "row_reduce");
  }
}

TEST(RowReduceProperty, LayerNorm) {
  Rng rng(12);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    const Dims dims = RandomDims(rng);
    const std::string t = DTypeOf(rng);
    const int64_t axis = Between(rng, 0, static_cast<int64_t>(dims.size()) - 1);
    const Dims scale(dims.begin() + axis, dims.end());
    const std::string type = DenseType(t, dims);
    const uint64_t kind = rng.Below(3);
    const std::string parameters = kind == 0 ? "" : kind == 1 ? ", %2" : ", %2, %3";
    const std::string text =
        Wrap("  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = input() : " +
                 RandomType(rng, t, dims) + "\n  %2 = weight() : " + DenseType(t, scale) +
                 "\n  %3 = weight() : " + DenseType(t, scale) +
                 "\n  %4 = add(%0, %1) : " + RandomType(rng, t, dims) + "\n  %5 = layer_norm(%4" +
                 parameters + ") {axis=" + std::to_string(axis) +
                 ",epsilon=0.01} : " + RandomType(rng, t, dims) + "\n",
             Chance(rng, 50) ? "%5" : "%5, %4");
    CheckFamily(rng, text, "row_reduce");
  }
}

TEST(RowReduceProperty, Reductions) {
  Rng rng(13);
  const std::string kinds[] = {"sum", "mean", "max",        "min",        "prod",
                               "l1",  "l2",   "sum_square", "log_sum_exp"};
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
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
    const std::string text =
        Wrap("  %0 = input() : " + RandomType(rng, t, dims) + "\n  %1 = neg(%0) : " +
                 DenseType(t, dims) + "\n  %2 = reduce(%1) {axes=" + IntListToText(axes) +
                 ",keepdims=" + (keep ? "1" : "0") + ",kind=" + kind + "} : " + DenseType(t, out) +
                 "\n  %3 = abs(%2) : " + RandomType(rng, t, out) + "\n",
             "%3");
    CheckFamily(rng, text, "row_reduce");
  }
}

// Few and long rows are cut into parts: along the columns, along the other reduced dimensions, with
// columns kept.
TEST(RowReduceProperty, PartsOfLongRows) {
  Rng rng(15);
  CheckOptions options;
  options.configs = 4;
  options.tolerance = 1e-4;
  const std::string kinds[] = {"sum", "mean", "max", "min", "l1", "l2", "sum_square"};
  for (int i = 0; i < 24 && !HasFailure(); ++i) {
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
    CheckFamily(rng,
                Wrap("  %0 = input() : " + DenseType(t, dims) +
                         "\n  %1 = reduce(%0) {axes=" + IntListToText(axes) +
                         ",keepdims=0,kind=" + kinds[rng.Below(7)] + "} : " + DenseType(t, out) +
                         "\n  %2 = neg(%1) : " + DenseType(t, out) + "\n",
                     "%2"),
                "row_reduce", options);
  }
}

TEST(RowReduceProperty, FullyMaskedRowsFollowPlainArithmetic) {
  Rng rng(14);
  CheckOptions options;
  options.masked_operand = 0;
  options.mask_share = 0.5;
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const Dims dims = {Between(rng, 1, 5), Between(rng, 4, 90)};
    CheckFamily(rng,
                Wrap("  %0 = input() : " + RandomType(rng, "f32", dims) +
                         "\n  %1 = softmax(%0) {axis=1} : " + DenseType("f32", dims) + "\n",
                     "%1"),
                "row_reduce", options);
  }
}

}  // namespace
}  // namespace mlc::schedule
