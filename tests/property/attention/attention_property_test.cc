// Random attention workloads agree with the reference, interpreted for random targets and compiled
// for this machine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/property/kernel_check/kernel_check.h"

namespace mlc::schedule {
namespace {

using Dims = std::vector<int64_t>;

std::string Wrap(const std::string& body, const std::string& output) {
  return "workload v1 tolerance=1e-4 {\n" + body + "  return " + output + "\n}\n";
}

struct Shape {
  int64_t batch, heads, queries, keys, depth, width;
};

Shape RandomShape(Rng& rng) {
  return {Between(rng, 1, 2),  Between(rng, 1, 3),  Between(rng, 1, 20),
          Between(rng, 1, 70), Between(rng, 1, 20), Between(rng, 1, 40)};
}

TEST(AttentionProperty, RandomShapesLayoutsAndMasks) {
  Rng rng(31);
  for (int i = 0; i < 40 && !HasFailure(); ++i) {
    const Shape s = RandomShape(rng);
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
    CheckOptions options;
    if (masked && Chance(rng, 50)) {
      options.masked_operand = 3;
      options.mask_share = 0.4;
    }
    CheckFamily(rng, Wrap(body, id), "attention", options);
  }
}

// Queries, keys and values are views of one buffer; the result is written with heads merged.
TEST(AttentionProperty, ViewsOfOneProjection) {
  Rng rng(32);
  for (int i = 0; i < 10 && !HasFailure(); ++i) {
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
    CheckFamily(rng, Wrap(body, "%6"), "attention");
  }
}

}  // namespace
}  // namespace mlc::schedule
