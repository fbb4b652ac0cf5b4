// The estimate that chooses the default of few_bits_contraction orders configs as they were
// measured on an H200 (docs/data/gpu_few_bits_configs.json, docs/benchmarks/gpu-decode.md).
#include "compiler/schedule/cuda/few_bits/few_bits_estimate.h"

#include <gtest/gtest.h>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {
namespace {

struct Product {
  int m, k, n, bits;
  bool has_norm_and_gate = false;  // n: of both halves
};

std::string Type(std::string_view dtype, int64_t rows, int64_t columns) {
  return std::string(dtype) + "[" + std::to_string(rows) + "," + std::to_string(columns) + "]";
}

graph::Workload WorkloadOf(const Product& p) {
  const std::string rows = Type("bf16", p.m, p.k), sums = Type("bf16", p.m, p.n);
  std::string text = "workload v1 tolerance=1e-1 {\n  %0 = input() : " + rows +
                     "\n  %1 = weight() : " + Type("u8", p.n, int64_t{p.k} * p.bits / 8) +
                     "\n  %2 = weight() : " + Type("bf16", p.n, p.k / 32) +
                     "\n  %3 = dequantize(%1, %2) {bits=" + std::to_string(p.bits) +
                     ", block=32, depth=" + std::to_string(p.k) +
                     ", zero=" + std::to_string(1 << (p.bits - 1)) +
                     "} : " + Type("bf16", p.k, p.n);
  if (!p.has_norm_and_gate) {
    text += "\n  %4 = matmul(%0, %3) : " + sums + "\n  return %4\n}\n";
  } else {
    const std::string half = Type("bf16", p.m, p.n / 2);
    text += "\n  %4 = weight() : bf16[" + std::to_string(p.k) +
            "]\n  %5 = layer_norm(%0, %4) {axis=1, epsilon=1e-05, kind=rms} : " + rows +
            "\n  %6 = matmul(%5, %3) : " + sums +
            "\n  %7 = slice(%6) {starts=[0,0], steps=[1,1]} : " + half +
            "\n  %8 = slice(%6) {starts=[0," + std::to_string(p.n / 2) +
            "], steps=[1,1]} : " + half + "\n  %9 = mul(%7, %8) : " + half + "\n  return %9\n}\n";
  }
  Result<graph::Workload> workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << text;
  return *std::move(workload);
}

target::Target H200() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
}

double CyclesOf(const Product& p, std::string_view knobs) {
  const graph::Workload workload = WorkloadOf(p);
  const std::optional<GpuContraction> g = FindGpuContractionOfFewBits(workload);
  EXPECT_TRUE(g) << workload.ToText();
  const Result<Config> config =
      Config::Parse("few_bits_contraction/1 " + std::string(knobs) + " turns=1");
  EXPECT_TRUE(g && config.ok()) << config.status().ToString();
  const FewBitsPlan plan = MakeFewBitsPlan(*g, *config);
  EXPECT_EQ(CheckFewBitsPlan(*g, H200(), plan), RejectReason::kNone) << knobs;
  return FewBitsCycles(*g, H200(), plan);
}

struct Pair {
  Product product;
  const char *faster, *slower;
};

TEST(FewBitsEstimate, OrdersConfigsAsMeasured) {
  const Product qkv{1, 2048, 3072, 4}, square{1, 2048, 2048, 4}, gate{1, 2048, 11264, 4},
      down{1, 5632, 2048, 4}, head{1, 2048, 32000, 4}, gate8{1, 2048, 11264, 8},
      rows{16, 5632, 2048, 4};
  const Pair pairs[] = {
      {qkv, "warps=16 slices=8 unroll=2 split=1", "warps=8 slices=4 unroll=3 split=1"},
      {qkv, "warps=8 slices=4 unroll=3 split=1", "warps=16 slices=2 unroll=8 split=1"},
      {square, "warps=16 slices=16 unroll=2 split=1", "warps=4 slices=4 unroll=8 split=1"},
      {square, "warps=8 slices=4 unroll=2 split=1", "warps=8 slices=4 unroll=1 split=1"},
      {gate, "warps=4 slices=4 unroll=8 split=1", "warps=16 slices=4 unroll=4 split=1"},
      {gate, "warps=8 slices=4 unroll=2 split=1", "warps=8 slices=2 unroll=1 split=1"},
      {gate, "warps=8 slices=4 unroll=3 split=1", "warps=4 slices=1 unroll=6 split=1"},
      {down, "warps=8 slices=8 unroll=4 split=1", "warps=8 slices=4 unroll=3 split=1"},
      {down, "warps=16 slices=16 unroll=1 split=1", "warps=4 slices=2 unroll=3 split=2"},
      {head, "warps=16 slices=1 unroll=8 split=1", "warps=16 slices=8 unroll=2 split=1"},
      {head, "warps=8 slices=1 unroll=3 split=1", "warps=4 slices=1 unroll=1 split=1"},
      {gate8, "warps=8 slices=4 unroll=2 split=1", "warps=8 slices=2 unroll=3 split=1"},
      {gate8, "warps=4 slices=4 unroll=4 split=1", "warps=16 slices=16 unroll=2 split=1"},
      {rows, "warps=16 slices=16 unroll=2 split=1", "warps=2 slices=1 unroll=8 split=4"},
  };
  for (const Pair& pair : pairs) {
    EXPECT_LT(CyclesOf(pair.product, pair.faster), CyclesOf(pair.product, pair.slower))
        << pair.product.k << "x" << pair.product.n << ": " << pair.faster << ", " << pair.slower;
  }
}

// With weights that L2 holds: 6.6 and 8.1 us. Few warps wait for each fragment that they multiply.
TEST(FewBitsEstimate, ChargesNormsAndWaitsToEachBlock) {
  const Product gate{1, 2048, 11264, 4, true};
  EXPECT_LT(1.05 * CyclesOf(gate, "warps=8 slices=4 unroll=2 split=1"),
            CyclesOf(gate, "warps=4 slices=2 unroll=8 split=1"));
  const Product plain{1, 2048, 11264, 4, false};
  EXPECT_LT(CyclesOf(plain, "warps=8 slices=4 unroll=2 split=1"),
            CyclesOf(gate, "warps=8 slices=4 unroll=2 split=1"));
}

}  // namespace
}  // namespace mlc::schedule
