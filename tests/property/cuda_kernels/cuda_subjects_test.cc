// Random legal configs of random workloads, for every family, are built as a worker builds them:
// lowered, verified, printed as CUDA, compiled for Hopper, their preparations for this machine.
// Skips, visibly, without NVRTC. What is built here is run by tests/gpu/families_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "compiler/build/child_process.h"
#include "compiler/build/nvrtc.h"
#include "tests/workloads/case_range.h"
#include "tests/workloads/cuda_subjects.h"
#include "worker/built_kernel.h"

namespace mlc::schedule {
namespace {

constexpr int kUsualCases = 2;  // of each subject

target::Target Hopper() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000 "
      "tensor_gflops=800000 copy_gbps=4350");
}

std::string NameOf(const ::testing::TestParamInfo<CudaSubject>& info) { return info.param.name; }

class RandomConfigs : public ::testing::TestWithParam<CudaSubject> {};

TEST_P(RandomConfigs, AreBuilt) {
  static const auto nvrtc = build::Nvrtc::Open("");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const CudaSubject& subject = GetParam();
  const CaseRange range = CasesFromEnvironment(kUsualCases);
  const worker::CudaToolchain tools{nvrtc->get(), target::DetectHost(1), false};
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Status status = build::RunInChildren(range.count, processors, [&](int i) -> Status {
    const uint64_t seed = range.seed + static_cast<uint64_t>(i);
    const auto trial = DrawTrial(subject, Hopper(), seed);
    if (!trial) return NotFound("no workload drawn from seed has a config of this kind");
    const auto built = worker::BuildKernel(trial->workload, trial->config, Hopper(), tools);
    if (built.ok() || IsCompilersRefusal(built.status().message())) return Status();
    return Status(built.status().code(), built.status().message() + "\n" + OneCase(seed) +
                                             " cuda_subjects_test --gtest_filter='*/" +
                                             subject.name + "'\n" + trial->config + "\n" +
                                             trial->workload);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(Hopper, RandomConfigs, ::testing::ValuesIn(CudaSubjects()), NameOf);

}  // namespace
}  // namespace mlc::schedule
