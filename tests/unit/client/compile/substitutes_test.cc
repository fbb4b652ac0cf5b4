// What devices newer than the target run, where they cannot run a task's own kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/compile/choose_kernels.h"
#include "client/compile/compile_report.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/check_config.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/client/compile/known_times.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProduct[] =
    "workload v1 tolerance=0.004 {\n"
    "%0 = input() : f16[512,768]\n%1 = weight() : f16[768,3072]\n"
    "%2 = matmul(%0, %1) : f16[512,3072]\nreturn %2\n}\n";

class SubstitutesTest : public ::testing::Test {
 protected:
  SubstitutesTest() { program_.tasks.push_back({task_, 1, "product"}); }

  // The first legal config of the family that `wanted` takes.
  template <typename Wanted>
  schedule::Config Find(const char* family, const Wanted& wanted) const {
    const schedule::Family& found = *schedule::FindFamily(family);
    const schedule::Space space = found.MakeSpace(task_, target_);
    for (int64_t i = 0; i < space.NumPoints(); ++i) {
      const schedule::Config config = space.At(i);
      const bool legal = schedule::CheckConfig(task_, target_, config).ok();
      if (legal && wanted(config)) return config;
    }
    ADD_FAILURE() << "no such config of " << family;
    return {};
  }
  bool OnAll(const schedule::Config& config) const {
    return schedule::CheckConfig(task_, newer_, config).ok();
  }
  schedule::Config Warpgroups() const {
    return Find("warpgroup_contraction", [](const schedule::Config&) { return true; });
  }
  schedule::Config Portable() const {
    return Find("tensor_contraction", [&](const auto& config) { return OnAll(config); });
  }
  schedule::Config Large() const {
    return Find("tensor_contraction", [&](const auto& config) { return !OnAll(config); });
  }
  void Add(const schedule::Config& config, double ns) {
    AddTime(*log_, task_, target_, config, ns, "model", ++count_);
  }
  package::Choice Choose() const {
    const auto source = MakeLogSource(*log_, target_.ClassText());
    const auto choices = ChooseFrom(program_, target_, source.get(), Transfer::kUse);
    EXPECT_TRUE(choices.ok()) << choices.status().ToString();
    return choices->front();
  }

  const target::Target target_ = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  const target::Target newer_ = target::NewerDevices(target_)[0];
  const graph::Workload task_ = *graph::Workload::Parse(kProduct);
  graph::Program program_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  int count_ = 0;
};

TEST_F(SubstitutesTest, AreTheBestMeasuredThatNewerDevicesRun) {
  Add(Portable(), 9000);
  EXPECT_FALSE(Choose().substitute) << "they run the fastest one";
  Add(Warpgroups(), 5000);
  Add(Large(), 6000);
  const package::Choice choice = Choose();
  EXPECT_EQ(choice.config, Warpgroups());
  EXPECT_EQ(choice.substitute, Portable());
}

TEST_F(SubstitutesTest, StandForKernelsThatNeedMoreMemoryThanAllHave) {
  Add(Large(), 5000);
  const package::Choice choice = Choose();
  EXPECT_EQ(choice.config, Large());
  ASSERT_TRUE(choice.substitute);
  EXPECT_TRUE(OnAll(*choice.substitute));
}

TEST_F(SubstitutesTest, StandForUserKernels) {
  const schedule::UserKernel user_kernel{"f", "extern \"C\" __global__ void f(const void*) {}\n", 1,
                                         32, 0};
  Add(*user_kernel.ToConfig(), 5000);
  Add(Portable(), 9000);
  const package::Choice choice = Choose();
  EXPECT_TRUE(schedule::IsUserKernel(choice.config));
  EXPECT_EQ(choice.substitute, Portable());
}

TEST_F(SubstitutesTest, ALockFilePinsThem) {
  Add(Warpgroups(), 5000);
  Add(Portable(), 9000);
  const package::LockFile lock = LockOf(program_, target_, {Choose()});
  const auto read = package::LockFile::Parse(lock.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  const auto pinned = ChooseFromLock(program_, target_, *read);
  ASSERT_TRUE(pinned.ok()) << pinned.status().ToString();
  EXPECT_EQ(pinned->front().substitute, Portable());
  EXPECT_EQ(LockOf(program_, target_, *pinned).ToText(), lock.ToText());
}

// The same lock file gives the same library, whatever devices there are by then.
TEST_F(SubstitutesTest, ALockFileWithoutThemGivesNone) {
  const std::string text = "mlc lock v1\ntarget " + target_.ClassText() + "\ntask " +
                           task_.digest().ToText() + " default 0 " + Warpgroups().ToText() + "\n";
  const auto lock = package::LockFile::Parse(text);
  ASSERT_TRUE(lock.ok()) << lock.status().ToString();
  const auto choices = ChooseFromLock(program_, target_, *lock);
  ASSERT_TRUE(choices.ok()) << choices.status().ToString();
  EXPECT_EQ(choices->front().config, Warpgroups());
  EXPECT_FALSE(choices->front().substitute);
}

TEST_F(SubstitutesTest, ReportsNameThem) {
  Add(Warpgroups(), 5000);
  Add(Portable(), 9000);
  std::vector<package::Choice> choices = {Choose()};
  package::LibraryReport library;
  library.substitute_weights_bytes = 2'500'000;
  const CompileReport report{program_, choices, target_, library};
  EXPECT_THAT(ToText(report), HasSubstr("for GPUs of sm_90a, and newer ones, where 1 of 1 tasks "
                                        "have another kernel (2.5 MB of the weights)\n"));
  EXPECT_THAT(ToJson(report), HasSubstr("\"substitute\": \"" + Portable().ToText()));
  EXPECT_THAT(ToJson(report), HasSubstr("\"substitute_weights_bytes\": 2500000"));
  choices[0].substitute.reset();
  EXPECT_THAT(ToText(report), HasSubstr("for GPUs of sm_90a, and newer ones\n"));
  EXPECT_THAT(ToJson(report), Not(HasSubstr("\"substitute\"")));
  library.portable = false;
  EXPECT_THAT(ToText(report), HasSubstr("for GPUs of sm_90a alone\n"));
}

}  // namespace
}  // namespace mlc::client
