// A program of its own: what other tests leave free in the heap would be memory for the compiler,
// which is forked.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "worker/devices.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

// What earlier compilations freed stays mapped, and a fork would have it for the next ones.
std::vector<void*> TakeFreeHeap() {
  std::vector<void*> taken;
  taken.reserve(1'000'000);
  mallopt(M_TOP_PAD, 0);
  mallopt(M_MMAP_MAX, 0);
  for (size_t bytes = size_t{1} << 24; bytes >= 32; bytes /= 2) {
    while (taken.size() < taken.capacity()) {
      const void* const end = sbrk(0);
      taken.push_back(std::malloc(bytes));
      if (sbrk(0) != end) break;
    }
  }
  mallopt(M_MMAP_MAX, 65536);
  return taken;
}

TEST(Engine, ACompilerWithoutMemoryIsTheMachinesTrouble) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "a sanitizer: no limits of memory";
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;  // given: not measured
  options.build_memory_bytes = 1;
  auto engine = CreateEngine(options);
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  const std::string workload =
      graph::Workload::Parse(
          "workload v1 tolerance=1e-04 {\n%0 = input() : f32[32,48]\n%1 = weight() : "
          "f32[48,64]\n%2 = matmul(%0, %1) : f32[32,64]\nreturn %2\n}\n")
          ->ToText();
  const std::vector<void*> heap = TakeFreeHeap();
  const Measurement m =
      RunTrial(**engine, {{0, 1}, workload, *DefaultConfig(workload, (*engine)->target()), 7, 0}, 1)
          .front();
  for (void* block : heap) std::free(block);
  EXPECT_EQ(m.outcome, Outcome::kInfra) << m.detail;
  EXPECT_NE(m.detail.find("out of memory"), std::string::npos) << m.detail;
}

}  // namespace
}  // namespace mlc::worker
