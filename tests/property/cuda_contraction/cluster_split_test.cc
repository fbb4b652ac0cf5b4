// Blocks that share k as a cluster agree with the reference, and to the last bit with the same
// blocks that share it through memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/problem/contraction_space.h"
#include "tests/property/cuda_contraction/cuda_case.h"
#include "tests/workloads/cuda_subjects.h"

namespace mlc::schedule {
namespace {

constexpr int kCases = 8;

std::vector<CudaSubject> Subjects() {
  std::vector<CudaSubject> subjects;
  for (const CudaSubject& subject : CudaSubjects()) {
    const bool splits = subject.knob != nullptr && std::string_view(subject.knob) == "split";
    if (splits && subject.least < 0) subjects.push_back(subject);
  }
  return subjects;
}

class ClusterSplit : public ::testing::TestWithParam<CudaSubject> {};

TEST_P(ClusterSplit, AgreesWithTheReferenceAndWithTheOtherForm) {
  const CudaSubject& subject = GetParam();
  const target::Target target = HopperTarget();
  const Family& family = *FindFamily(subject.family);
  int twins = 0;
  for (uint64_t seed = 0; seed < kCases && !HasFailure(); ++seed) {
    const auto trial = DrawTrial(subject, target, seed);
    ASSERT_TRUE(trial) << "no workload drawn has such a config";
    SCOPED_TRACE(trial->config + "\n" + trial->workload);
    Rng rng(seed);
    CudaCase c = MakeCudaCase(rng, *graph::Workload::Parse(trial->workload));
    const Config config = *Config::Parse(trial->config);
    std::vector<std::vector<std::byte>> stored, expected;
    const double error = CudaError(c, target, config, &stored);
    EXPECT_GE(error, 0);
    EXPECT_LE(error, subject.bound);
    Config twin = config;
    SetKnob(twin, "split", -config["split"]);
    if (family.MakeSpace(c.workload, target).RankOf(twin) < 0) continue;
    ++twins;
    EXPECT_GE(CudaError(c, target, twin, &expected), 0);
    EXPECT_TRUE(stored == expected);
  }
  EXPECT_GT(twins, 0);
}

INSTANTIATE_TEST_SUITE_P(Subjects, ClusterSplit, ::testing::ValuesIn(Subjects()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlc::schedule
