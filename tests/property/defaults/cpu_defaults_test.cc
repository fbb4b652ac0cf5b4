// What a build takes without a log: the default of every family for CPUs is legal, whatever
// the layer and the machine. Lowering one that is not would refuse the whole model.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"
#include "tests/workloads/case_range.h"
#include "tests/workloads/layers.h"

namespace mlc::schedule {
namespace {

const char* const kCaches[] = {"l1=32768 l2=262144 l3=8388608", "l1=32768 l2=524288 l3=16777216",
                               "l1=49152 l2=1048576 l3=33554432",
                               "l1=49152 l2=2097152 l3=110100480"};

target::Target RandomCpu(Rng& rng) {
  const char* const isas[] = {"avx512", "avx2", "plain"};
  const int threads[] = {1, 2, 3, 4, 8, 16, 48, 192};
  const std::string text = "target v1 cpu arch=x86_64 isa=" + std::string(isas[rng.Below(3)]) +
                           " threads=" + std::to_string(threads[rng.Below(8)]) + " " +
                           kCaches[rng.Below(4)];
  const auto target = target::Target::Parse(text);
  EXPECT_TRUE(target.ok()) << target.status().ToString();
  return *target;
}

TEST(CpuDefaults, AreLegalForLayersOfAllSizes) {
  const CaseRange range = CasesFromEnvironment(1500);
  std::set<std::string_view> met;
  for (int i = 0; i < range.count; ++i) {
    const uint64_t seed = range.seed + static_cast<uint64_t>(i);
    Rng rng(seed);
    const RandomWorkload layer = RandomLayer(rng);
    const auto workload = graph::Workload::Parse(layer.text);
    ASSERT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << layer.text;
    const target::Target target = RandomCpu(rng);
    for (const Family* family : FamiliesFor(*workload, target)) {
      met.insert(family->name());
      const Config config = family->Default(*workload, target);
      EXPECT_EQ(family->Check(*workload, target, config), RejectReason::kNone)
          << OneCase(seed) << " cpu_defaults_test\n"
          << target.ToText() << "\n"
          << config.ToText() << "\n"
          << layer.text;
    }
  }
  if (range.count < 1500) return;
  for (const char* name :
       {"attention", "contraction", "depthwise", "pointwise", "row_reduce", "window", "winograd"}) {
    EXPECT_EQ(met.count(name), 1u) << name;
  }
}

}  // namespace
}  // namespace mlc::schedule
