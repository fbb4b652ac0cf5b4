#include "costmodel/analytic.h"

#include <gtest/gtest.h>

namespace mlc::costmodel {
namespace {

target::Target Gpu() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=800000 copy_gbps=4350");
}

// A product of 4096 x 4096 x 4096 in tiles of 128 x 128.
schedule::KernelFacts LargeProduct() {
  schedule::KernelFacts f;
  f.flops = f.useful_flops = f.tensor_flops = 2.0 * 4096 * 4096 * 4096;
  f.blocks = 1024;
  f.block_threads = 256;
  f.waves = 1024.0 / 132;
  f.warp_parallelism = 8;
  f.pipeline_steps = 128;
  f.phases = 1;
  f.l1_bytes = 8e9;
  f.l2_bytes = 1024.0 * 128 * 4096 * 2 * 2;
  f.dram_bytes = 3.0 * 4096 * 4096 * 2;
  return f;
}

double Total(const schedule::KernelFacts& f) { return EstimateKernel(f, Gpu()).total_ns; }

TEST(AnalyticCuda, MoreOfAnythingIsSlower) {
  const double base = Total(LargeProduct());
  using Member = double schedule::KernelFacts::*;
  for (const Member member :
       {&schedule::KernelFacts::flops, &schedule::KernelFacts::tensor_flops,
        &schedule::KernelFacts::l2_bytes, &schedule::KernelFacts::dram_bytes,
        &schedule::KernelFacts::scratch_bytes, &schedule::KernelFacts::phases}) {
    schedule::KernelFacts more = LargeProduct();
    more.*member = more.*member * 8 + 1e6;
    EXPECT_GT(Total(more), base);
  }
}

TEST(AnalyticCuda, StaysBetweenTheMatrixPeakAndATenthOfIt) {
  const double at_peak = LargeProduct().flops / 800000;
  EXPECT_GT(Total(LargeProduct()), at_peak);
  EXPECT_LT(Total(LargeProduct()), 10 * at_peak);
}

TEST(AnalyticCuda, FasterMatrixInstructionsPayWhereTheyAreTheBound) {
  schedule::KernelFacts bound = LargeProduct();
  bound.l1_bytes = 2e9;
  const double slow = Total(bound);
  bound.tensor_rate = 1.5;
  EXPECT_LT(Total(bound), 0.8 * slow);
  schedule::KernelFacts copies = LargeProduct();
  copies.l2_bytes *= 64;
  const double base = Total(copies);
  copies.tensor_rate = 1.5;
  EXPECT_GT(Total(copies), 0.9 * base);
}

// A family's own count stands for all that its blocks do, whatever bytes and steps it reports.
TEST(AnalyticCuda, CountedCyclesAreNotAddedUpAgain) {
  schedule::KernelFacts counted = LargeProduct();
  counted.dram_bytes = 0;
  counted.cycles = 1e6;
  const double total = Total(counted);
  EXPECT_GT(total, 1e6 / 2.0);  // at most two clocks of a nanosecond
  EXPECT_LT(total, 1e6);
  schedule::KernelFacts more = counted;
  more.l1_bytes *= 100;
  more.l2_bytes *= 100;
  more.pipeline_steps *= 100;
  EXPECT_EQ(Total(more), total);
  more.cycles *= 2;
  EXPECT_NEAR(Total(more), 2 * total, 0.01 * total);
  more.dram_bytes = 1e12;
  EXPECT_GT(Total(more), 100 * total);
}

TEST(AnalyticCuda, FewBlocksLeaveMultiprocessorsIdle) {
  schedule::KernelFacts few = LargeProduct();
  few.blocks = 6;
  few.waves = 1;
  EXPECT_GT(Total(few), 10 * Total(LargeProduct()));
}

TEST(AnalyticCuda, LongChainsOfStepsBoundSmallKernels) {
  schedule::KernelFacts f;
  f.flops = f.tensor_flops = 1e6;
  f.blocks = 6;
  f.waves = 1;
  f.warp_parallelism = 4;
  f.phases = 1;
  f.pipeline_steps = 96;
  const double whole = Total(f);
  f.blocks = 48;  // split in eight
  f.pipeline_steps = 12;
  EXPECT_LT(Total(f), whole / 2);
}

}  // namespace
}  // namespace mlc::costmodel
