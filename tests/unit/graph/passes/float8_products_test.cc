#include "compiler/graph/passes/float8_products.h"

#include "compiler/graph/float8_product.h"
#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/passes/precision.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

Graph Parsed(const std::string& body) {
  const Result<Graph> graph = Graph::Parse("graph v1 { " + body + " }");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

int CountFloat8(const Graph& graph) {
  int count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    count += IsProductOfFloat8(graph, graph[id]) ? 1 : 0;
  }
  return count;
}

// [128,32] numbers of float8, stored as `dtype`, which is too much to be spelled in the text.
Graph WithWeights(DType dtype, const std::string& before, const std::string& after) {
  std::vector<double> values(128 * 32);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int>(i % 15) - 7) * (i % 2 == 0 ? 1 : 0.25);
  }
  // The graph's text names a splat, which the numbers replace.
  Graph graph = Parsed(before + after);
  for (ValueId id = 0; id < graph.size(); ++id) {
    Value& node = graph[id];
    if (node.op != Op::kConstant || node.type.NumElements() != 128 * 32) continue;
    node.attrs.erase("value");
    node.data = WriteDoubles(dtype, node.type.dims, values);
    node.type.dtype = dtype;
  }
  return graph;
}

const std::string kRows =
    "%0 = input() : f8e4m3fn[64,128] %1 = cast(%0) : f32[64,128] "
    "%2 = constant() {value=0.5} : f32[] %3 = mul(%1, %2) : f32[64,128] ";
// As DequantizeLinear of [128,32] with a scale for each column.
std::string Columns(const std::string& dtype) {
  return "%4 = constant() {value=1.0} : " + dtype +
         "[128,32] %5 = cast(%4) : f32[128,32] "
         "%6 = input() : f32[1,32] %7 = mul(%5, %6) : f32[128,32] ";
}
const std::string kProduct = "%8 = matmul(%3, %7) : f32[64,32] return %8";

// The graph computes the same with so many products of float8.
Graph ExpectFloat8(const Graph& before, int products, bool wide = true) {
  Graph after = before;
  const Result<bool> changed = MultiplyFloat8(after, {.wide = wide});
  EXPECT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_TRUE(after.Verify().ok()) << after.Verify().message();
  EXPECT_EQ(CountFloat8(after), products) << after.ToText();
  EXPECT_LE(Difference(before, after, 3), 1e-6);
  return after;
}

TEST(MultiplyFloat8, ScalesTheSums) {
  for (const DType stored : {DType::kF8E4M3Fn, DType::kF16}) {
    const Graph after = ExpectFloat8(
        WithWeights(stored, kRows, Columns(std::string(ToText(stored))) + kProduct), 1);
    for (ValueId id = 0; id < after.size(); ++id) {
      if (!IsProductOfFloat8(after, after[id])) continue;
      EXPECT_EQ(after[after[id].operands[0]].op, Op::kInput);
      EXPECT_EQ(after[after[id].operands[1]].type.dtype, DType::kF8E4M3Fn);
    }
  }
}

TEST(MultiplyFloat8, LeavesModelsInSinglePrecisionAlone) {
  const Graph graph = WithWeights(DType::kF8E4M3Fn, kRows, Columns("f8e4m3fn") + kProduct);
  ExpectFloat8(graph, 0, false);
}

TEST(MultiplyFloat8, TakesModelsInHalfPrecision) {
  const std::string rows =
      "%0 = input() : f8e5m2[2,32,128] %1 = cast(%0) : f32[2,32,128] "
      "%2 = constant() {value=0.5} : f32[] %3 = mul(%1, %2) : f32[2,32,128] "
      "%4 = cast(%3) : f16[2,32,128] ";
  const std::string columns =
      "%5 = constant() {value=1.0} : f16[32,128] %6 = cast(%5) : f32[32,128] "
      "%7 = constant() {value=0.125} : f32[] %8 = mul(%6, %7) : f32[32,128] "
      "%9 = cast(%8) : f16[32,128] %10 = transpose(%9) {perm=[1,0]} : f16[128,32] "
      "%11 = matmul(%4, %10) : f16[2,32,32] return %11";
  Graph before = WithWeights(DType::kF16, rows, columns);
  Graph after = before;
  ASSERT_TRUE(MultiplyFloat8(after, {}).ok());
  ASSERT_TRUE(after.Verify().ok()) << after.Verify().message();
  EXPECT_EQ(CountFloat8(after), 1) << after.ToText();
  EXPECT_LE(Difference(before, after, 3), 1e-3);
}

TEST(MultiplyFloat8, LeavesScalesAlongWhatIsSummed) {
  ExpectFloat8(WithWeights(DType::kF8E4M3Fn, kRows,
                           "%4 = constant() {value=1.0} : f8e4m3fn[128,32] %5 = cast(%4) : "
                           "f32[128,32] %6 = input() : f32[128,1] %7 = mul(%5, %6) : f32[128,32] " +
                               kProduct),
               0);
}

TEST(MultiplyFloat8, LeavesNumbersThatAreNoFloat8) {
  Graph graph = WithWeights(DType::kF16, kRows, Columns("f16") + kProduct);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].type.NumElements() != 128 * 32 || graph[id].op != Op::kConstant) continue;
    graph[id].data = WriteDoubles(DType::kF16, {128, 32}, std::vector<double>(128 * 32, 1.03125));
  }
  ExpectFloat8(graph, 0);
}

TEST(MultiplyFloat8, LeavesFewRows) {
  const std::string rows =
      "%0 = input() : f8e4m3fn[16,128] %1 = cast(%0) : f32[16,128] "
      "%2 = constant() {value=0.5} : f32[] %3 = mul(%1, %2) : f32[16,128] ";
  ExpectFloat8(WithWeights(DType::kF8E4M3Fn, rows,
                           Columns("f8e4m3fn") + "%8 = matmul(%3, %7) : f32[16,32] return %8"),
               0);
}

// Sums keep single precision until they are scaled, whatever the model computes in.
TEST(MultiplyFloat8, SumsAreScaledBeforeTheyAreNarrowed) {
  Graph graph = ExpectFloat8(
      WithWeights(DType::kF8E4M3Fn, kRows,
                  Columns("f8e4m3fn") +
                      "%8 = matmul(%3, %7) : f32[64,32] %9 = input() : f32[32] "
                      "%10 = add(%8, %9) : f32[64,32] %11 = tanh(%10) : f32[64,32] return %11"),
      1);
  const Graph before = graph;
  ASSERT_TRUE(RunPasses(graph, {}).ok());
  ASSERT_TRUE(ConvertPrecision(graph, Precision::kFp16).ok());
  ASSERT_TRUE(graph.Verify().ok()) << graph.Verify().message();
  ASSERT_EQ(CountFloat8(graph), 1) << graph.ToText();
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kPointwise) continue;
    const bool scales = IsProductOfFloat8(graph, graph[node.operands[0]]);
    EXPECT_EQ(node.type.dtype, scales ? DType::kF32 : DType::kF16) << graph.ToText();
    EXPECT_TRUE(!scales || node.scalar == ScalarOp::kMul);
  }
  EXPECT_LE(Difference(before, graph, 3), 4e-3);
}

}  // namespace
}  // namespace mlc::graph
