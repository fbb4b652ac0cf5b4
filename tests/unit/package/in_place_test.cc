#include "compiler/package/in_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/front/front.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/schedule/space/family.h"
#include "tests/e2e/library/small_models.h"

namespace mlc::package {
namespace {

using graph::Graph;
using graph::ValueId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<InPlacePair> PairsOf(const Graph& graph) {
  const target::Target target = target::DetectHost(2);
  const Result<graph::Program> program = front::BuildProgram(graph, {});
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return {};
  std::vector<Choice> choices;
  for (const graph::Task& task : program->tasks) {
    const auto families = schedule::FamiliesFor(task.workload, target);
    choices.push_back({families[0]->Default(task.workload, target), FromDefault(), 0, {}});
  }
  const auto kernels = LowerKernels(*program, choices, target, "net", ::testing::TempDir());
  EXPECT_TRUE(kernels.ok()) << kernels.status().message();
  if (!kernels.ok()) return {};
  return InPlacePairs(*program, OnePlan(*program), OwnKernels(*program, *kernels));
}

TEST(InPlace, ACacheThatARowIsWrittenTo) {
  EXPECT_THAT(PairsOf(testing::Cache(6)), ElementsAre(InPlacePair{0, 0}));
}

TEST(InPlace, ACacheThatIsReadAsItWasIsCopied) {
  Graph graph = testing::Cache(6);
  graph.outputs().push_back(graph.Pointwise(ScalarOp::kNeg, {graph.Inputs()[0]}));
  graph.output_names().emplace_back("before");
  EXPECT_THAT(PairsOf(graph), IsEmpty());
}

TEST(InPlace, AResultThatIsNoInputIsCopied) {
  Graph graph;
  const ValueId past = graph.Input({DType::kF32, {6, 4}, {}}, "past");
  const ValueId row = graph.Input({DType::kF32, {1, 4}, {}}, "row");
  const ValueId place = graph.Input({DType::kI64, {1, 1}, {}}, "place");
  graph::Value scatter;
  scatter.op = graph::Op::kScatterND;
  scatter.operands = {graph.Pointwise(ScalarOp::kNeg, {past}), place, row};
  graph.outputs() = {graph::AddNode(graph, std::move(scatter))};
  graph.output_names() = {"present"};
  EXPECT_THAT(PairsOf(graph), IsEmpty());
}

TEST(InPlace, AModelWithoutCaches) { EXPECT_THAT(PairsOf(testing::Perceptron()), IsEmpty()); }

}  // namespace
}  // namespace mlc::package
