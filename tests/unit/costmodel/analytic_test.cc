#include "costmodel/analytic.h"

#include <gtest/gtest.h>

namespace mlc::costmodel {
namespace {

schedule::KernelFacts Facts() {
  schedule::KernelFacts f;
  f.flops = f.useful_flops = 1e9;
  f.accumulators = 24;
  f.loads_per_fma = 0.5;
  f.inner_trip = 64;
  f.l1_bytes = f.l2_bytes = 1e6;
  f.l3_bytes = f.dram_bytes = 1e5;
  f.parallel_chunks = 8;
  return f;
}

double Total(const schedule::KernelFacts& facts) {
  target::Target target;
  target.cpu().threads = 2;
  return EstimateKernel(facts, target).total_ns;
}

TEST(AnalyticTest, MoreOfAnythingIsSlower) {
  const double base = Total(Facts());
  using Member = double schedule::KernelFacts::*;
  for (Member member : {&schedule::KernelFacts::flops, &schedule::KernelFacts::loads_per_fma,
                        &schedule::KernelFacts::l3_bytes, &schedule::KernelFacts::imbalance,
                        &schedule::KernelFacts::phases}) {
    schedule::KernelFacts worse = Facts();
    worse.*member *= 4;
    EXPECT_GT(Total(worse), base);
  }
}

TEST(AnalyticTest, FewChainsDoNotHideLatency) {
  schedule::KernelFacts few = Facts();
  few.accumulators = 2;
  EXPECT_GT(Total(few), 1.3 * Total(Facts()));
}

TEST(AnalyticTest, OneChunkUsesOneThread) {
  schedule::KernelFacts one = Facts();
  one.parallel_chunks = 1;
  EXPECT_GT(Total(one), 1.8 * Total(Facts()));
}

TEST(AnalyticTest, NeverBeatsACalibratedPeak) {
  target::Target target;
  target.fma_gflops = 100;
  EXPECT_GE(EstimateKernel(Facts(), target).total_ns, 1e9 / 100);
  target.fma_gflops = 200;
  EXPECT_LT(EstimateKernel(Facts(), target).total_ns, 1e9 / 100);
}

TEST(AnalyticTest, TrafficOutOfCacheIsLimitedByCopies) {
  schedule::KernelFacts stream = Facts();
  stream.flops = 1;
  stream.dram_bytes = 1e9;
  target::Target target;
  target.copy_gbps = 20;
  EXPECT_GE(EstimateKernel(stream, target).total_ns, 1e9 / 20);
}

}  // namespace
}  // namespace mlc::costmodel
