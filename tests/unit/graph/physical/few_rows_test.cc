// What a product of few rows and a scatter into a cache take with them, where the device has
// kernels for it.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/physical/build_program.h"
#include "compiler/graph/tensor_io.h"
#include "tests/support/graph/run_program.h"
#include "tests/unit/graph/physical/program_of.h"

namespace mlc::graph {
namespace {

Program With(const std::string& text, int64_t rows = 4) {
  PhysicalOptions options;
  options.rules.write_over_operands = false;
  options.rules.few_rows = {.rows = rows, .depth = 64};
  options.rules.scatters_compute = true;
  Result<Graph> graph = Graph::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  Result<Program> program = BuildPhysical(*std::move(graph), options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : Program{};
}

// The program computes what the graph means.
void ExpectSame(const std::string& text, const Program& program) {
  const Graph graph = *Graph::Parse(text);
  std::vector<TensorDataRef> inputs;
  double next = 0.5;
  for (const ValueId input : graph.Inputs()) {
    const TensorType& type = graph[input].type;
    std::vector<double> values;
    for (int64_t i = 0; i < type.NumElements(); ++i) {
      next = type.dtype == DType::kI64 ? 1 : std::fmod(next * 1.7 + 0.3, 2) - 1;
      values.push_back(next);
    }
    inputs.push_back(WriteDoubles(type.dtype, type.dims, values));
  }
  const auto want = Evaluate(graph, inputs);
  const auto got = RunProgram(program, inputs);
  ASSERT_TRUE(want.ok()) << want.status().message();
  ASSERT_TRUE(got.ok()) << got.status().message();
  for (size_t i = 0; i < want->size(); ++i) {
    const std::vector<double> a = ReadDoubles(*(*got)[i]), b = ReadDoubles(*(*want)[i]);
    for (size_t k = 0; k < b.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5) << i << " " << k;
  }
}

constexpr char kMatrix[] =
    "constant() {values=[1.0,0.5,-1.0,2.0,0.25,-0.5,1.5,1.0,-2.0,0.75,0.5,1.0,1.25,-1.0,0.5,2.0]} "
    ": f32[4,4] ";

std::string NormedProduct(const std::string& rows, const std::string& rest) {
  return "graph v1 { %0 = input() : f32[" + rows + ",4] %1 = " + kMatrix +
         "%2 = constant() {values=[0.5,1.0,2.0,1.5]} : f32[4] "
         "%3 = layer_norm(%0, _, _) {axis=1, kind=rms} : f32[" +
         rows + ",4] %4 = mul(%3, %2) : f32[" + rows + ",4] %5 = matmul(%4, %1) : f32[" + rows +
         ",4] " + rest + " }";
}

TEST(FewRows, ANormJoinsTheProductThatReadsIt) {
  const std::string text = NormedProduct("2", "return %5");
  const Program program = With(text);
  EXPECT_EQ(StepsOf(program), "layer_norm mul matmul");
  ExpectSame(text, program);
}

TEST(FewRows, ANormOfManyRowsIsATask) {
  EXPECT_EQ(StepsOf(With(NormedProduct("5", "return %5"))), "layer_norm mul; matmul");
  EXPECT_EQ(StepsOf(With(NormedProduct("1", "return %5"), 0)), "layer_norm mul; matmul");
}

TEST(FewRows, ANormThatIsReadElsewhereIsATask) {
  EXPECT_EQ(StepsOf(With(NormedProduct("2", "return %5, %4"))), "layer_norm mul; matmul");
  const std::string twice = "%6 = add(%5, %4) : f32[2,4] return %6";
  EXPECT_EQ(StepsOf(With(NormedProduct("2", twice))), "layer_norm mul; matmul add");
}

TEST(FewRows, ANormWithoutItsMeanIsNeeded) {
  EXPECT_EQ(StepsOf(With("graph v1 { %0 = input() : f32[2,4] %1 = " + std::string(kMatrix) +
                         "%2 = layer_norm(%0, _, _) {axis=1} : f32[2,4] "
                         "%3 = matmul(%2, %1) : f32[2,4] return %3 }")),
            "layer_norm; matmul");
}

constexpr char kGate[] =
    "%6 = slice(%5) {starts=[0,0]} : f32[1,2] %7 = slice(%5) {starts=[0,2]} : f32[1,2] "
    "%8 = sigmoid(%6) : f32[1,2] %9 = mul(%6, %8) : f32[1,2] %10 = mul(%9, %7) : f32[1,2] ";

TEST(FewRows, HalvesThatAGateCombinesJoinTheirProduct) {
  const std::string text = NormedProduct("1", std::string(kGate) + "return %10");
  const Program program = With(text);
  EXPECT_EQ(StepsOf(program), "layer_norm mul matmul slice sigmoid mul slice mul");
  ExpectSame(text, program);
}

TEST(FewRows, HalvesThatAreReadElsewhereStayViews) {
  const std::string gate(kGate);
  EXPECT_EQ(StepsOf(With(NormedProduct("1", gate + "return %10, %5"))),
            "layer_norm mul matmul; sigmoid mul mul");
  const std::string other =
      "%11 = reshape(%7) : f32[2] %12 = softmax(%11) {axis=0} : f32[2] return %10, %12";
  EXPECT_EQ(StepsOf(With(NormedProduct("1", gate + other))),
            "layer_norm mul matmul; sigmoid mul mul; softmax");
}

constexpr char kUpdate[] =
    "graph v1 { %0 = input() : f32[4,2,1,4] %1 = input() : i64[1,1] %2 = input() : f32[1,4] "
    "%3 = constant() {values=[1.0,0.5,-1.0,2.0,0.25,-0.5,1.5,1.0,-2.0,0.75,0.5,1.0,1.25,-1.0,0.5,"
    "2.0]} : f32[4,4] %4 = matmul(%2, %3) : f32[1,4] %5 = reshape(%4) : f32[1,1,2,2] "
    "%6 = slice(%5) {starts=[0,0,1,0], steps=[1,1,-1,1]} : f32[1,1,2,2] "
    "%7 = add(%5, %6) : f32[1,1,2,2] ";

TEST(FewRows, AnUpdateOfACacheTakesWhatComputesIt) {
  const std::string text =
      std::string(kUpdate) +
      "%8 = reshape(%7) : f32[1,1,1,4] %9 = expand(%8) : f32[1,2,1,4] "
      "%10 = scatter_nd(%0, %1, %9) {reduction=none} : f32[4,2,1,4] return %10 }";
  ExpectSame(text, With(text));
  const std::string one =
      "graph v1 { %0 = input() : f32[4,1,1,4] %1 = input() : i64[1,1] %2 = input() : f32[1,1,2,2] "
      "%3 = slice(%2) {starts=[0,0,1,0], steps=[1,1,-1,1]} : f32[1,1,2,2] "
      "%4 = add(%2, %3) : f32[1,1,2,2] %5 = reshape(%4) : f32[1,1,1,4] "
      "%6 = scatter_nd(%0, %1, %5) {reduction=none} : f32[4,1,1,4] return %6 }";
  const Program program = With(one);
  EXPECT_EQ(StepsOf(program), "slice add reshape scatter_nd");
  ExpectSame(one, program);
}

TEST(FewRows, PointwiseValuesOfTheSameProductAreComputedBesideAnUpdate) {
  const std::string text = std::string(kUpdate) +
                           "%8 = input() : f32[4,1,1,4] %9 = reshape(%4) : f32[1,1,1,4] "
                           "%10 = scatter_nd(%8, %1, %9) {reduction=none} : f32[4,1,1,4] "
                           "return %7, %10 }";
  const Program program = With(text);
  EXPECT_EQ(program.steps.size(), 2u) << StepsOf(program);
  ExpectSame(text, program);
}

constexpr char kTwoCaches[] =
    "graph v1 { %0 = input() : f32[4,2,1,4] %1 = input() : f32[4,2,1,4] %2 = input() : i64[1,1] "
    "%3 = input() : i64[1,1] %4 = input() : f32[1,2,1,4] %5 = input() : f32[1,2,1,4] "
    "%6 = neg(%4) : f32[1,2,1,4] ";

// Updates of both caches: `first` and `second` are operands of scatter_nd.
void ExpectSteps(const std::string& first, const std::string& second, size_t steps) {
  const std::string tail = ") {reduction=none} : f32[4,2,1,4] ";
  const std::string text = std::string(kTwoCaches) + "%7 = scatter_nd(" + first + tail +
                           "%8 = scatter_nd(" + second + tail + "return %7, %8 }";
  const Program program = With(text);
  EXPECT_EQ(program.steps.size(), steps) << StepsOf(program);
  ExpectSame(text, program);
}

TEST(FewRows, CachesWithTheSameIndicesAreUpdatedTogether) {
  ExpectSteps("%0, %2, %6", "%1, %2, %5", 1);
}

TEST(FewRows, CachesWithOtherIndicesAreNot) { ExpectSteps("%0, %2, %6", "%1, %3, %5", 2); }

TEST(FewRows, AnUpdateOfAnUpdatedCacheIsNotPartOfIt) { ExpectSteps("%0, %2, %6", "%0, %2, %5", 2); }

}  // namespace
}  // namespace mlc::graph
