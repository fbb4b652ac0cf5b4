#include "client/compile/shared_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/compile/choose_kernels.h"
#include "compiler/front/front.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "db/tuning_log.h"
#include "tests/e2e/library/small_models.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/client/compile/known_times.h"

namespace mlc::client {
namespace {

// One task, and kernels for few rows and for many that pack the weights differently.
class SharedLayoutsTest : public ::testing::Test {
 protected:
  static graph::Program ProgramOf(int64_t rows) {
    const graph::Graph graph = testing::Product(rows);
    Result<graph::Program> program = front::BuildProgram(graph, {});
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program.ok() ? *std::move(program) : graph::Program();
  }
  std::vector<package::Choice> Chosen(const graph::Program& program, KernelSource* source) const {
    const auto choices = ChooseFrom(program, target_, source, Transfer::kIgnore);
    EXPECT_TRUE(choices.ok()) << choices.status().message();
    return choices.ok() ? *choices : std::vector<package::Choice>();
  }
  // Copies of the weights in a library of both numbers of rows.
  size_t Copies(const std::vector<package::Choice>& many,
                const std::vector<package::Choice>& few) const {
    package::PlanMerger merger({"rows"});
    EXPECT_TRUE(merger.Add({kMany}, ProgramOf(kMany), many).ok());
    EXPECT_TRUE(merger.Add({kFew}, ProgramOf(kFew), few).ok());
    const auto merged = merger.Take();
    EXPECT_TRUE(merged.ok()) << merged.status().message();
    const auto kernels = package::LowerKernels(merged->program, merged->choices, target_, "m", "");
    EXPECT_TRUE(kernels.ok()) << kernels.status().message();
    std::vector<const schedule::LoweredKernel*> lowered;
    for (const package::TaskKernel& kernel : *kernels) lowered.push_back(&kernel.lowered);
    const std::vector<const schedule::LoweredKernel*> none(lowered.size());
    return package::PlanWeights(merged->program, lowered, none).prepared.size();
  }

  static constexpr int64_t kMany = 512, kFew = 8;
  target::Target target_ = target::DetectHost(2);
};

TEST_F(SharedLayoutsTest, UntunedSizesReadOneCopyOfTheWeights) {
  const graph::Program many = ProgramOf(kMany), few = ProgramOf(kFew);
  std::vector<package::Choice> first = Chosen(many, nullptr), second = Chosen(few, nullptr);
  if (Copies(first, second) == 1) GTEST_SKIP() << "this machine's defaults have one layout";
  SharedLayouts layouts(target_, nullptr);
  const std::string before = first[0].config.ToText();
  ASSERT_TRUE(layouts.Share(many, first).ok());
  EXPECT_EQ(first[0].config.ToText(), before) << "the first size has its own layout";
  std::vector<package::Choice> shared = second;
  ASSERT_TRUE(layouts.Share(few, shared).ok());
  EXPECT_EQ(Copies(first, shared), 1u);
  EXPECT_FALSE(IsTuned(shared[0]));
}

TEST_F(SharedLayoutsTest, MeasuredConfigsGiveWayToAboutAsFastOnesOnly) {
  const graph::Program many = ProgramOf(kMany), few = ProgramOf(kFew);
  std::vector<package::Choice> first = Chosen(many, nullptr);
  const std::vector<package::Choice> own = Chosen(few, nullptr);
  if (Copies(first, own) == 1) GTEST_SKIP() << "this machine's defaults have one layout";
  std::vector<package::Choice> other = own;
  SharedLayouts untuned(target_, nullptr);
  ASSERT_TRUE(untuned.Share(many, first).ok());
  ASSERT_TRUE(untuned.Share(few, other).ok());
  ASSERT_NE(own[0].config.ToText(), other[0].config.ToText());
  for (const double shared_ns : {102.0, 110.0}) {
    const std::unique_ptr<db::TuningLog> log = db::MakeMemoryLog();
    const graph::Workload& workload = few.tasks[0].workload;
    AddTime(*log, workload, target_, own[0].config, 100, "verify", 1);
    AddTime(*log, workload, target_, other[0].config, shared_ns, "verify", 2);
    const std::unique_ptr<KernelSource> source = MakeLogSource(*log, target_.ClassText());
    std::vector<package::Choice> tuned = Chosen(few, source.get());
    ASSERT_EQ(tuned[0].config.ToText(), own[0].config.ToText());
    std::vector<package::Choice> kept = tuned;
    SharedLayouts without(target_, nullptr);
    ASSERT_TRUE(without.Share(many, first).ok());
    ASSERT_TRUE(without.Share(few, kept).ok());
    EXPECT_EQ(kept[0].config.ToText(), own[0].config.ToText()) << "no records, no change";
    SharedLayouts layouts(target_, source.get());
    ASSERT_TRUE(layouts.Share(many, first).ok());
    ASSERT_TRUE(layouts.Share(few, tuned).ok());
    EXPECT_TRUE(IsTuned(tuned[0]));
    const bool taken = tuned[0].config.ToText() == other[0].config.ToText();
    EXPECT_EQ(taken, shared_ns < 103) << shared_ns;
    EXPECT_EQ(Copies(first, tuned), taken ? 1u : 2u);
  }
}

}  // namespace
}  // namespace mlc::client
