// Random legal configs of random workloads, for every family: their kernels fit devices of several
// sizes, and a worker builds them for Hopper, preparations for this machine included. The latter
// skips, visibly, without NVRTC; tests/gpu/families_test.cc runs what is built.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/machine/cpus.h"
#include "base/process/child_process.h"
#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/schedule/space/family.h"
#include "tests/workloads/case_range.h"
#include "tests/workloads/cuda_subjects.h"
#include "worker/build/built_kernel.h"

namespace mlc::schedule {
namespace {

constexpr int kBuilt = 2;  // of each subject
constexpr int kLowered = 5;

// The one that is built for comes first.
const char* const kTargets[] = {
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
    "tensor_gflops=800000 copy_gbps=4350",
    "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040 fma_gflops=19500 "
    "tensor_gflops=300000 copy_gbps=1500",
    "target v1 cuda arch=sm_86 sms=10 block=101376 sm=102400 l2=4194304 fma_gflops=9500 "
    "tensor_gflops=30000 copy_gbps=500"};

target::Target Target(const char* text) { return *target::Target::Parse(text); }

std::string NameOf(const ::testing::TestParamInfo<CudaSubject>& info) { return info.param.name; }

class RandomConfigs : public ::testing::TestWithParam<CudaSubject> {};

void CheckLaunches(const CudaTrial& trial, const target::Target& target) {
  const auto workload = graph::Workload::Parse(trial.workload);
  const auto config = Config::Parse(trial.config);
  ASSERT_TRUE(workload.ok() && config.ok());
  const auto lowered = LowerConfig(*workload, target, *config);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  const Status verified = lowered->kernel.Verify();
  ASSERT_TRUE(verified.ok()) << verified.message();
  const auto source = codegen::PrintCuda(lowered->kernel, target);
  ASSERT_TRUE(source.ok()) << source.status().message();
  for (const codegen::CudaLaunch& launch : source->launches) {
    EXPECT_TRUE(target::CheckLaunch(launch.grid, launch.block).ok());
    EXPECT_GE(launch.block.x, 32);
    EXPECT_LE(launch.block_bytes, target.gpu().block_bytes);
  }
}

TEST_P(RandomConfigs, FitTheirDevices) {
  const CudaSubject& subject = GetParam();
  const CaseRange range = CasesFromEnvironment(kLowered);
  for (const char* text : kTargets) {
    const target::Target target = Target(text);
    if (subject.NeedsClusters() && target.gpu().compute < 90) continue;
    const std::string_view family = subject.family;
    if ((family == "warpgroup_contraction" || family.starts_with("role_")) &&
        !target.gpu().HasWarpgroupMma()) {
      continue;
    }
    for (int i = 0; i < range.count && !HasFailure(); ++i) {
      const uint64_t seed = range.seed + static_cast<uint64_t>(i);
      SCOPED_TRACE(target.gpu().CudaArch() + " " + OneCase(seed));
      const auto trial = DrawTrial(subject, target, seed);
      ASSERT_TRUE(trial) << "no workload drawn has a config of this kind";
      SCOPED_TRACE(trial->config + "\n" + trial->workload);
      CheckLaunches(*trial, target);
    }
  }
}

TEST_P(RandomConfigs, AreBuilt) {
  static const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const CudaSubject& subject = GetParam();
  const target::Target hopper = Target(kTargets[0]);
  const CaseRange range = CasesFromEnvironment(kBuilt);
  const worker::CudaToolchain tools{nvrtc->get(), target::DetectHost(1), false};
  const int cpus = target::UsableCpus();
  const Status status = build::RunInChildren(range.count, cpus, [&](int i) -> Status {
    const uint64_t seed = range.seed + static_cast<uint64_t>(i);
    const auto trial = DrawTrial(subject, hopper, seed);
    if (!trial) return NotFound("no workload drawn from seed has a config of this kind");
    const auto built = worker::BuildKernel(trial->workload, trial->config, hopper, tools);
    if (built.ok() || IsCompilersRefusal(built.status().message())) return Status();
    return Status(built.status().code(), built.status().message() + "\n" + OneCase(seed) +
                                             " cuda_subjects_test --gtest_filter='*/" +
                                             subject.name + "'\n" + trial->config + "\n" +
                                             trial->workload);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Subjects, RandomConfigs, ::testing::ValuesIn(CudaSubjects()), NameOf);

}  // namespace
}  // namespace mlc::schedule
