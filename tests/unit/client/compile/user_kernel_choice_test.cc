// User-supplied kernels in a log: what a build makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/compile/choose_kernels.h"
#include "client/compile/compile_report.h"
#include "client/compile/emit.h"
#include "client/compile/server_best.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "costmodel/default_config.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/client/compile/known_times.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

graph::Workload Doubled(int size) {
  const std::string type = " : f32[" + std::to_string(size) + "]\n";
  return *graph::Workload::Parse("workload v1 tolerance=1e-05 {\n%0 = input()" + type +
                                 "%1 = add(%0, %0)" + type + "return %1\n}\n");
}

class UserKernelChoiceTest : public ::testing::Test {
 protected:
  UserKernelChoiceTest() {
    program_.tasks.push_back({task_, 1, "add"});
    Add(Default(), 5000);
    Add(UserConfig(), 4000);
  }
  schedule::Config Default() const { return *costmodel::DefaultConfig(task_, target_); }
  static schedule::Config UserConfig() {
    return *schedule::UserKernel{
        "twice",
        "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
        "  out[threadIdx.x] = 2 * in[threadIdx.x];\n}\n",
        1, 512, 0}
                .ToConfig();
  }
  void Add(const schedule::Config& config, double ns) {
    AddTime(*log_, task_, target_, config, ns, db::kConfirmationArm, ++count_);
  }
  package::Choice Choose(const graph::Program& program, UserKernels user_kernels) const {
    const auto source = MakeLogSource(*log_, target_.ClassText());
    const auto choices = ChooseFrom(program, target_, source.get(), Transfer::kUse, user_kernels);
    EXPECT_TRUE(choices.ok()) << choices.status().ToString();
    return choices->front();
  }

  const target::Target target_ = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  const graph::Workload task_ = Doubled(512);
  graph::Program program_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  int count_ = 0;
};

TEST_F(UserKernelChoiceTest, TheFastestIsTakenIfAllowed) {
  EXPECT_EQ(Choose(program_, UserKernels::kUse).config, UserConfig());
  EXPECT_EQ(Choose(program_, UserKernels::kIgnore).config, Default());
  Add(Default(), 3000);
  EXPECT_EQ(Choose(program_, UserKernels::kUse).config, Default());
}

TEST_F(UserKernelChoiceTest, AnUnusableOneIsSkipped) {
  schedule::Config broken = UserConfig();
  broken.words[1].second = "eJx";
  Add(broken, 1000);
  EXPECT_EQ(Choose(program_, UserKernels::kUse).config, UserConfig());
}

TEST_F(UserKernelChoiceTest, IsCarriedToNoOtherShape) {
  graph::Program near;
  near.tasks.push_back({Doubled(513), 1, "add"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(schedule::IsUserKernel(Choose(near, UserKernels::kUse).config));
  }
}

TEST_F(UserKernelChoiceTest, ALockFileHoldsItAndReportsNameIt) {
  const package::Choice choice = Choose(program_, UserKernels::kUse);
  const package::LockFile lock = LockOf(program_, target_, {choice});
  const auto read = package::LockFile::Parse(lock.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(ChooseFromLock(program_, target_, *read)->front().config, UserConfig());
  EXPECT_THAT(ChooseFromLock(program_, target_, *read, UserKernels::kIgnore).status().message(),
              HasSubstr("pins a user-supplied kernel"));
  const std::vector<package::Choice> choices = {choice};
  const package::LibraryReport library;
  const CompileReport report{program_, choices, target_, library};
  EXPECT_THAT(ToText(report), HasSubstr("entry=twice (user-supplied)"));
  EXPECT_THAT(ToJson(report), HasSubstr("\"user_kernel\": true"));
  const auto cuda = KernelsText(Stage::kCuda, program_, {choice}, target_, -1, "");
  ASSERT_TRUE(cuda.ok());
  EXPECT_THAT(*cuda, HasSubstr("out[threadIdx.x] = 2 * in[threadIdx.x];"));
  EXPECT_THAT(*KernelsText(Stage::kIr, program_, {choice}, target_, -1, ""),
              HasSubstr("user-supplied kernel"));
}

TEST_F(UserKernelChoiceTest, AServerIsAskedForThemOnlyWhereTheyAreTaken) {
  const auto kernels = [&](UserKernels user_kernels) {
    std::string text;
    const proto::BestRequest request =
        BestRequestOf(program_, target_, Transfer::kIgnore, user_kernels);
    for (const std::string& kernel : request.kernels()) text += kernel + " ";
    return text;
  };
  EXPECT_THAT(kernels(UserKernels::kUse), HasSubstr("user_kernel/1"));
  EXPECT_THAT(kernels(UserKernels::kIgnore), Not(HasSubstr("user_kernel")));
}

}  // namespace
}  // namespace mlc::client
