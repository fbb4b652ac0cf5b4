#include "client/compile/shared_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "client/compile/choose_kernels.h"
#include "compiler/front/front.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"
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

// A product of 768 columns by a matrix of 768 x 3072.
graph::Graph WideProduct(int64_t rows) {
  graph::Graph graph;
  const graph::ValueId x = graph.Input({DType::kF32, {rows, 768}, {}}, "x");
  const std::vector<double> zeros(size_t{768} * 3072);
  graph::Value product;
  product.op = graph::Op::kMatMul;
  product.operands = {x, graph.Constant(graph::WriteDoubles(DType::kF32, {768, 3072}, zeros))};
  graph.outputs() = {graph::AddNode(graph, std::move(product))};
  graph.output_names() = {"y"};
  return graph;
}

// Kernels for GPUs are the defaults with a layout that is there, and newer GPUs run all of them.
TEST(SharedLayoutsOfGpus, FewerLayoutsServeAllSizesAndNewerGpusRunThem) {
  const target::Target target = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  const target::Target newer = target::NewerDevices(target)[0];
  SharedLayouts layouts(target, nullptr);
  std::set<std::string> packings, own;
  const auto add = [&](const graph::Workload& workload, const schedule::Config& config,
                       std::set<std::string>& to) {
    const auto lowered = schedule::LowerConfig(workload, target, config);
    ASSERT_TRUE(lowered.ok()) << lowered.status().message();
    for (const auto& one : lowered->preparations) to.insert(one.kernel.ToText());
  };
  front::FrontOptions options;
  options.precision = graph::Precision::kFp16;
  for (const int64_t rows : {512, 384, 256, 128, 96, 64, 32}) {
    const graph::Graph graph = WideProduct(rows);
    const auto program = front::BuildProgram(graph, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    auto choices = ChooseFrom(*program, target, nullptr, Transfer::kIgnore);
    ASSERT_TRUE(choices.ok()) << choices.status().message();
    for (size_t i = 0; i < choices->size(); ++i) {
      add(program->tasks[i].workload, (*choices)[i].config, own);
    }
    ASSERT_TRUE(layouts.Share(*program, *choices).ok());
    for (size_t i = 0; i < choices->size(); ++i) {
      const package::Choice& choice = (*choices)[i];
      const graph::Workload& workload = program->tasks[i].workload;
      add(workload, choice.config, packings);
      const schedule::Config portable = choice.substitute.value_or(choice.config);
      EXPECT_TRUE(schedule::CheckConfig(workload, newer, portable).ok()) << portable.ToText();
    }
  }
  EXPECT_LT(packings.size(), own.size());
}

}  // namespace
}  // namespace mlc::client
