// Every family for GPUs on a real device: random legal configs of random workloads go through the
// worker's engine, as a server's trials do, and agree with the reference in double precision. All
// cases are built side by side; each subject of them is a test. Skips where there is no device or
// compiler. MLC_TEST_CASES is the number of cases of each subject, MLC_TEST_SEED the first one's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/cpus.h"
#include "tests/workloads/case_range.h"
#include "tests/workloads/cuda_subjects.h"
#include "worker/devices.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

using schedule::CudaSubject;
using schedule::CudaSubjects;
using schedule::CudaTrial;

constexpr int kUsualCases = 15;

struct Case {
  uint64_t seed = 0;
  std::optional<CudaTrial> trial;
  std::optional<Measurement> measurement;
};

// The cases of the subjects that are to be tested, by the subjects' indices.
using Cases = std::map<size_t, std::vector<Case>>;

Result<std::unique_ptr<Engine>> NewEngine() {
  WorkerOptions options;
  options.gpus = MLC_TRY(FindGpus());
  // A second device would be another target; its peaks do not matter here.
  options.gpus.resize(1);
  options.gpus.front().target.copy_gbps = 1;
  options.cpu = false;
  options.builders = target::UsableCpus();
  options.target = target::DetectHost(options.builders);
  options.target.fma_gflops = 1;
  // For hosts whose driver does not work in the sandbox.
  const char* sandbox = std::getenv("MLC_TEST_SANDBOX");
  options.sandbox = sandbox == nullptr || std::string_view(sandbox) != "off";
  return CreateEngine(options);
}

// The subjects of the running suite that the program's filter leaves.
std::vector<size_t> Wanted() {
  std::set<std::string> names;
  const auto* suite = ::testing::UnitTest::GetInstance()->current_test_suite();
  for (int i = 0; i < suite->total_test_count(); ++i) {
    const ::testing::TestInfo& test = *suite->GetTestInfo(i);
    const std::string name = test.name();
    if (test.should_run()) names.insert(name.substr(name.find('/') + 1));
  }
  std::vector<size_t> wanted;
  for (size_t i = 0; i < CudaSubjects().size(); ++i) {
    if (names.contains(CudaSubjects()[i].name)) wanted.push_back(i);
  }
  return wanted;
}

Cases Draw(const std::vector<size_t>& subjects, const target::Target& target) {
  const schedule::CaseRange range = schedule::CasesFromEnvironment(kUsualCases);
  Cases cases;
  for (const size_t subject : subjects) {
    for (int i = 0; i < range.count; ++i) {
      const uint64_t seed = range.seed + static_cast<uint64_t>(i);
      cases[subject].push_back({seed, DrawTrial(CudaSubjects()[subject], target, seed), {}});
    }
  }
  return cases;
}

// Adds trials as the engine gets through them, and waits for all results.
void RunAll(Engine& engine, Cases& cases) {
  std::vector<std::pair<Digest, Case*>> waiting;
  for (auto& [subject, list] : cases) {
    for (Case& c : list) {
      if (c.trial) waiting.push_back({{subject, c.seed}, &c});
    }
  }
  const size_t most_held = 4 * static_cast<size_t>(target::UsableCpus());
  size_t next = 0;
  while (next < waiting.size() || engine.held() > 0) {
    for (; next < waiting.size() && engine.held() < most_held; ++next) {
      const auto& [uid, c] = waiting[next];
      engine.Add({uid, c->trial->workload, c->trial->config, c->seed, 0, 0});
    }
    engine.Work(1000, -1);
    for (TrialResult& result : engine.TakeResults()) {
      for (Case& c : cases[result.uid.high]) {
        if (c.seed == result.uid.low) c.measurement = std::move(result.measurement);
      }
    }
  }
}

class GpuFamilies : public ::testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<Engine>> engine = NewEngine();
    missing_ = engine.status();
    if (!engine.ok()) return;
    cases_ = Draw(Wanted(), (*engine)->target());
    RunAll(**engine, cases_);
    printf("%s\n", (*engine)->Use().text.c_str());
  }

  static Status missing_;  // why there is no engine
  static Cases cases_;
};
Status GpuFamilies::missing_;
Cases GpuFamilies::cases_;

// Empty, or what is wrong with the case.
std::string Fault(const CudaSubject& subject, const Case& c) {
  if (!c.trial) return "no workload drawn from the seed has a config of this kind";
  if (!c.measurement) return "no result";
  const Measurement& m = *c.measurement;
  if (m.outcome == Outcome::kBuildError && schedule::IsCompilersRefusal(m.detail)) return "";
  if (m.outcome != Outcome::kOk) return ToLine(m, 0);
  if (subject.bound == 0 || m.max_error <= subject.bound) return "";
  return "an error of " + std::to_string(m.max_error) + " where " + std::to_string(subject.bound) +
         " is the most";
}

TEST_P(GpuFamilies, AgreesWithTheReference) {
  if (missing_.code() == StatusCode::kFailedPrecondition ||
      missing_.code() == StatusCode::kNotFound) {
    GTEST_SKIP() << "no CUDA device or compiler: " << missing_.message();
  }
  ASSERT_TRUE(missing_.ok()) << missing_.ToString();
  const CudaSubject& subject = CudaSubjects()[GetParam()];
  int right = 0, refused = 0;
  double worst = 0;
  for (const Case& c : cases_[GetParam()]) {
    const std::string fault = Fault(subject, c);
    EXPECT_EQ(fault, "") << "again: " << schedule::OneCase(c.seed)
                         << " gpu_families_test --gtest_filter='*/" << subject.name
                         << "'\nor: mlc-worker --target cuda --seed " << c.seed
                         << " --trial FILE --trial-config '" << (c.trial ? c.trial->config : "")
                         << "', with this in FILE:\n"
                         << (c.trial ? c.trial->workload : "");
    if (!fault.empty()) continue;
    ++(c.measurement->outcome == Outcome::kOk ? right : refused);
    worst = std::max(worst, c.measurement->max_error);
  }
  printf("%-32s %3d right, %2d not built as they spill, largest error %.1e\n", subject.name, right,
         refused, worst);
  EXPECT_GT(right, 0) << "nothing ran";
}

INSTANTIATE_TEST_SUITE_P(Subjects, GpuFamilies, ::testing::Range(size_t{0}, CudaSubjects().size()),
                         [](const auto& info) { return CudaSubjects()[info.param].name; });

}  // namespace
}  // namespace mlc::worker
