#include "compiler/graph/passes/pipeline.h"

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

constexpr char kText[] =
    "graph v1 { %0 = input() : f32[2] %1 = constant() {value=2.0} : f32[] %2 = pow(%0, %1) : "
    "f32[2] return %2 }";

TEST(RunPasses, ReportsWhatChanged) {
  Graph graph = *Graph::Parse(kText);
  const auto reports = RunPasses(graph);
  ASSERT_TRUE(reports.ok()) << reports.status().message();
  ASSERT_EQ(reports->size(), Passes().size());
  EXPECT_EQ((*reports)[1].name, "simplify");
  EXPECT_TRUE((*reports)[1].changed);
  EXPECT_EQ((*reports)[1].values_before, 3);
  EXPECT_EQ((*reports)[1].values_after, 2);
  EXPECT_FALSE((*reports)[2].changed);
}

TEST(RunPasses, SkipsAndPrints) {
  Graph graph = *Graph::Parse(kText);
  PassOptions options;
  options.skip = {"simplify"};
  options.print_after = {"cse"};
  int printed = 0;
  options.print = [&](const Pass& pass, const Graph& after) {
    EXPECT_EQ(pass.name, "cse");
    EXPECT_NE(after.ToText().find("pow"), std::string::npos);
    ++printed;
  };
  ASSERT_TRUE(RunPasses(graph, options).ok());
  EXPECT_EQ(printed, 3);
}

TEST(RunPasses, NamesUnknownPasses) {
  Graph graph = *Graph::Parse(kText);
  PassOptions options;
  options.print_after = {"cze"};
  const auto reports = RunPasses(graph, options);
  ASSERT_FALSE(reports.ok());
  EXPECT_EQ(reports.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(reports.status().message().find("no pass is named 'cze'; there are: fold_constants"),
            std::string::npos);
}

TEST(RunPasses, RefusesABrokenGraph) {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {2}, {}});
  graph.outputs() = {x};
  graph[x].type.dims = {-1};
  EXPECT_EQ(RunPasses(graph).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::graph
