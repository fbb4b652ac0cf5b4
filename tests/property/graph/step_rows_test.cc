// What a smaller run needs of the results of steps.
#include "compiler/graph/ranged/step_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace mlc::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TensorType F32(std::vector<int64_t> dims, std::vector<int64_t> strides = {}) {
  return {DType::kF32, std::move(dims), std::move(strides)};
}

TEST(RowAxis, IsTheOutermostInMemoryOfThoseLongerThanOne) {
  EXPECT_EQ(RowAxis(F32({8, 4})), 0);
  EXPECT_EQ(RowElements(F32({8, 4})), 4);
  EXPECT_EQ(RowAxis(F32({1, 8, 4})), 1);
  EXPECT_EQ(RowAxis(F32({4, 8}, {1, 4})), 1) << "stored by columns";
  EXPECT_EQ(RowElements(F32({1, 3, 5, 7}, {105, 1, 21, 3})), 21) << "channels last";
  EXPECT_EQ(RowAxis(F32({1, 1})), -1);
  EXPECT_EQ(RowAxis(F32({4, 8}, {6, 1})), -1) << "rows overlap";
  EXPECT_EQ(RowElements(F32({4, 8}, {16, 1})), 16) << "a part of wider rows";
}

// A chain of steps, the first of which reads input 0; each result has its own memory.
class Chain {
 public:
  explicit Chain(int64_t rows) : rows_(rows) {
    program_.inputs = {{"x", F32({rows, 4})}, {"lengths", {DType::kI32, {1}, {}}}};
  }

  // A step of one operand, or of the lengths too. `make` gives the result of a graph's inputs.
  template <typename Make>
  void Add(bool reads_lengths, const Make& make) {
    Graph graph;
    const ValueId x = graph.Input(type_);
    ValueId result = kNoValue;
    Step step;
    step.task = static_cast<int>(program_.tasks.size());
    step.operands = {place_};
    if (reads_lengths) {
      const ValueId lengths = graph.Input({DType::kI32, {1}, {}});
      step.operands.push_back({Placement::Kind::kModelInput, 1, 0});
      result = make(graph, x, lengths);
    } else {
      result = make(graph, x, kNoValue);
    }
    type_ = graph[result].type;
    graph.outputs() = {result};
    Result<Workload> workload = Workload::Create(std::move(graph), 1e-4);
    ASSERT_TRUE(workload.ok()) << workload.status().message();
    place_ = {Placement::Kind::kArena, 0, program_.arena_bytes};
    step.outputs = {place_};
    program_.arena_bytes += 4096;
    program_.tasks.push_back({*std::move(workload), 1, ""});
    program_.steps.push_back(std::move(step));
  }

  int64_t rows() const { return rows_; }
  const Program& program() const { return program_; }

 private:
  int64_t rows_;
  TensorType type_ = F32({rows_, 4});
  Placement place_ = {Placement::Kind::kModelInput, 0, 0};
  Program program_;
};

ValueId Tanh(Graph& graph, ValueId x, ValueId) { return graph.Pointwise(ScalarOp::kTanh, {x}); }

// Rows beyond the length become zero.
ValueId Masked(Graph& graph, ValueId x, ValueId lengths) {
  const ValueId far = graph.Pointwise(ScalarOp::kLess, {lengths, graph.Splat(DType::kI32, 0)});
  return graph.Pointwise(ScalarOp::kSelect, {far, graph.Splat(DType::kF32, 0), x});
}

ValueId Whole(Graph& graph, ValueId x, ValueId) {
  return graph.Pointwise(ScalarOp::kLess, {x, graph.Splat(DType::kF32, 0)});
}

Chain Made(int64_t rows) {
  Chain chain(rows);
  chain.Add(false, Tanh);
  chain.Add(true, Masked);
  chain.Add(false, Tanh);
  return chain;
}

TEST(RowsOfSteps, AreThoseOfTheSizeButForWhatAMaskHasSet) {
  EXPECT_THAT(RowsOfSteps(Made(5).program(), Made(8).program(), 1),
              Optional(ElementsAre(5, -1, -1)));
  EXPECT_THAT(RowsOfSteps(Made(5).program(), Made(8).program(), -1), Optional(ElementsAre(5, 5, 5)))
      << "the input is none of lengths";
}

TEST(RowsOfSteps, AreAllOfResultsThatAreNoFloats) {
  Chain exact(5), padded(8);
  for (Chain* chain : {&exact, &padded}) chain->Add(false, Whole);
  EXPECT_THAT(RowsOfSteps(exact.program(), padded.program(), -1), Optional(ElementsAre(-1)));
}

TEST(RowsOfSteps, AreNotKnownOfOtherSteps) {
  Chain exact(5), padded(8);
  exact.Add(false, Tanh);
  padded.Add(false, Tanh);
  padded.Add(false, Tanh);
  EXPECT_EQ(RowsOfSteps(exact.program(), padded.program(), -1), std::nullopt);
  exact.Add(false,
            [](Graph& graph, ValueId x, ValueId) { return graph.Pointwise(ScalarOp::kAbs, {x}); });
  EXPECT_EQ(RowsOfSteps(exact.program(), padded.program(), -1), std::nullopt);
}

TEST(SourcesOf, AreTheLastWritersOfAnOperand) {
  const std::vector<std::vector<Source>> sources = SourcesOf(Made(8).program());
  EXPECT_THAT(sources, ElementsAre(ElementsAre(), ElementsAre(Source{0, 0, 0, 0}),
                                   ElementsAre(Source{0, 1, 0, 0})));
}

// What lay there before is gone, whatever the memory plan had put there.
TEST(SourcesOf, AWritingByColumnsCoversWhatWasThere) {
  Chain chain(8);
  chain.Add(false, Tanh);
  chain.Add(false, [](Graph& graph, ValueId x, ValueId) {
    const ValueId y = graph.Pointwise(ScalarOp::kTanh, {x});
    graph[y].type.strides = {1, 8};
    return y;
  });
  chain.Add(false, Tanh);
  Program program = chain.program();
  program.steps[1].operands = {{Placement::Kind::kModelInput, 0, 0}};
  program.steps[1].outputs = program.steps[2].operands = program.steps[0].outputs;
  EXPECT_THAT(SourcesOf(program),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(Source{0, 1, 0, 0})));
}

}  // namespace
}  // namespace mlc::graph
