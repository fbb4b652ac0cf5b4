#include "compiler/backend/backend.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "tests/workloads/layers.h"

namespace mlc::backend {
namespace {

constexpr std::string_view kTargets[] = {
    "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=33554432",
    "target v1 cpu arch=aarch64 isa=neon threads=2 l1=65536 l2=1048576 l3=33554432",
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560"};

TEST(Backend, OfATargetHasTheNameInItsText) {
  for (const std::string_view text : kTargets) {
    const target::Target target = *target::Target::Parse(text);
    const Backend& row = BackendOf(target);
    EXPECT_TRUE(text.starts_with("target v1 " + std::string(row.name) + " ")) << text;
  }
}

TEST(Backend, NamesAndFamiliesAreOfOneRow) {
  std::set<std::string_view> names;
  for (const Backend& row : Backends()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.families().empty()) << row.name;
    for (const schedule::Family* family : row.families()) {
      EXPECT_TRUE(names.insert(family->name()).second) << family->name();
    }
  }
  EXPECT_EQ(schedule::Families().size() + Backends().size(), names.size());
}

// A record may name any family, whatever its target is.
TEST(Backend, FamiliesRefuseTargetsOfOtherRows) {
  Rng rng(20261125);
  for (int i = 0; i < 200; ++i) {
    const graph::Workload workload = *graph::Workload::Parse(schedule::RandomLayer(rng).text);
    for (const std::string_view text : kTargets) {
      const target::Target target = *target::Target::Parse(text);
      for (const Backend& row : Backends()) {
        if (&row == &BackendOf(target)) continue;
        for (const schedule::Family* family : row.families()) {
          EXPECT_FALSE(family->Accepts(workload, target)) << family->name() << " on " << text;
        }
      }
    }
  }
}

TEST(Backend, EachWorkloadHasAFamilyAndAnEstimateOnEachTarget) {
  Rng rng(7);
  for (int i = 0; i < 100; ++i) {
    const graph::Workload workload = *graph::Workload::Parse(schedule::RandomLayer(rng).text);
    for (const std::string_view text : kTargets) {
      const target::Target target = *target::Target::Parse(text);
      const auto families = schedule::FamiliesFor(workload, target);
      ASSERT_FALSE(families.empty()) << text << "\n" << workload.ToText();
      const schedule::Family& family = *families.front();
      const schedule::KernelFacts facts =
          family.Facts(workload, target, family.Default(workload, target));
      EXPECT_GT(BackendOf(target).estimate(facts, target).total_ns, 0) << workload.ToText();
    }
  }
}

TEST(Backend, OnlyGpusHaveOtherDevicesWithFewerKernels) {
  EXPECT_TRUE(BackendOf(*target::Target::Parse(kTargets[0]))
                  .other_devices(*target::Target::Parse(kTargets[0]))
                  .empty());
  const target::Target gpu = *target::Target::Parse(kTargets[2]);
  const auto others = BackendOf(gpu).other_devices(gpu);
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0], target::NewerDevices(gpu)[0]);
}

}  // namespace
}  // namespace mlc::backend
