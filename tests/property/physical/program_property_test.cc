// Whatever the passes do to a graph, running the program through its real places gives what the
// graph means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/rng.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/physical/build_program.h"
#include "compiler/graph/physical/program_text.h"
#include "compiler/graph/tensor_io.h"
#include "tests/property/physical/random_graph.h"
#include "tests/support/graph/run_program.h"

namespace mlc::graph {
namespace {

std::vector<TensorDataRef> RandomInputs(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<TensorDataRef> inputs;
  for (ValueId input : graph.Inputs()) {
    const TensorType& type = graph[input].type;
    std::vector<double> values;
    for (int64_t i = 0; i < type.NumElements(); ++i) values.push_back(2 * rng.Uniform() - 1);
    inputs.push_back(WriteDoubles(type.dtype, type.dims, values));
  }
  return inputs;
}

// Largest difference over the largest magnitude; NaN anywhere is infinite.
double Distance(const TensorData& got, const TensorData& want) {
  const std::vector<double> a = ReadDoubles(got);
  const std::vector<double> b = ReadDoubles(want);
  double largest = 1e-6;
  double difference = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (std::isnan(a[i])) return INFINITY;
    largest = std::max(largest, std::abs(b[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return difference / largest;
}

class ProgramProperty : public testing::TestWithParam<uint64_t> {};

TEST_P(ProgramProperty, MeansWhatTheGraphMeans) {
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t seed = GetParam() * 100 + i;
    const Graph graph = RandomGraph(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.ToText());
    ASSERT_TRUE(graph.Verify().ok()) << graph.Verify().message();
    const std::vector<TensorDataRef> inputs = RandomInputs(graph, seed);
    const auto want = Evaluate(graph, inputs);
    ASSERT_TRUE(want.ok()) << want.status().message();
    const Result<Program> program = BuildPhysical(graph, {});
    ASSERT_TRUE(program.ok()) << program.status().message();
    SCOPED_TRACE(ToText(*program));
    const auto got = RunProgram(*program, inputs);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_EQ(got->size(), want->size());
    for (size_t k = 0; k < want->size(); ++k) {
      ASSERT_EQ((*got)[k]->dims, (*want)[k]->dims);
      ASSERT_LT(Distance(*(*got)[k], *(*want)[k]), 1e-5) << "output " << k;
    }
  }
}

// What GPU kernels ask: operands at multiples of 16 bytes, results beside them. Residual sums may
// be fused or not.
TEST_P(ProgramProperty, KeepsTheRulesOfPlaces) {
  PhysicalOptions options;
  options.rules.alignment = 16;
  options.rules.write_over_operands = false;
  for (uint64_t i = 0; i < 100; ++i) {
    const uint64_t seed = GetParam() * 100 + i;
    const Graph graph = RandomGraph(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.ToText());
    const std::vector<TensorDataRef> inputs = RandomInputs(graph, seed);
    const auto want = Evaluate(graph, inputs);
    options.fuse_residuals = i % 2 == 0;
    const Result<Program> program = BuildPhysical(graph, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (const Step& step : program->steps) {
      for (const Placement& place : step.operands) ASSERT_EQ(place.byte_offset % 16, 0);
      for (const Placement& place : step.outputs) ASSERT_EQ(place.byte_offset % 16, 0);
      for (const Placement& result : step.outputs) {
        for (const Placement& place : step.operands) {
          ASSERT_FALSE(place.kind == Placement::Kind::kArena && result.kind == place.kind &&
                       result.byte_offset == place.byte_offset);
        }
      }
    }
    const auto got = RunProgram(*program, inputs);
    ASSERT_TRUE(want.ok() && got.ok()) << got.status().message();
    for (size_t k = 0; k < want->size(); ++k) {
      ASSERT_LT(Distance(*(*got)[k], *(*want)[k]), 1e-5) << "output " << k;
    }
  }
}

TEST_P(ProgramProperty, IsTheSameEveryTime) {
  const Graph graph = RandomGraph(GetParam());
  const Result<Program> once = BuildPhysical(graph, {});
  const Result<Program> again = BuildPhysical(graph, {});
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(ToText(*once), ToText(*again));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProgramProperty, testing::Range<uint64_t>(0, 20));

}  // namespace
}  // namespace mlc::graph
