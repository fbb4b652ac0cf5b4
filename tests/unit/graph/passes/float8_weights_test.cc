#include "compiler/graph/passes/float8_weights.h"

#include <cmath>

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

constexpr PackedReads kReads = {.rows = 16, .narrow = true, .narrows = false, .float8 = true};
constexpr PackedReads kWide = {.rows = 16, .narrow = true, .narrows = true, .float8 = true};

// Numbers of float8, as f16, in the place of the constant of `elements` elements.
Graph WithCodes(const std::string& text, int64_t elements, double number = 1.75) {
  const Result<Graph> parsed = Graph::Parse("graph v1 { " + text + " }");
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  Graph graph = *parsed;
  std::vector<double> values(static_cast<size_t>(elements));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int>(i % 15) - 7) * (i % 2 == 0 ? 1 : 0.25);
  }
  values[0] = number;
  for (ValueId id = 0; id < graph.size(); ++id) {
    Value& node = graph[id];
    if (node.op != Op::kConstant || node.type.NumElements() != elements) continue;
    node.attrs.erase("value");
    node.data = WriteDoubles(node.type.dtype, node.type.dims, values);
  }
  return graph;
}

// The dequantize nodes of the graph, which computes the same afterwards; not compared if the bound
// is negative.
int CountPacked(const Graph& before, const PackedReads& reads, double bound = 0) {
  Graph after = before;
  const Result<bool> changed = PackFloat8Weights(after, reads);
  EXPECT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_TRUE(after.Verify().ok()) << after.Verify().message();
  if (bound >= 0) {
    EXPECT_LE(Difference(before, after, 3), bound) << after.ToText();
  }
  int count = 0;
  for (ValueId id = 0; id < after.size(); ++id) {
    if (after[id].op != Op::kDequantize) continue;
    ++count;
    EXPECT_TRUE(IsFloat8(after[after[id].operands[0]].type.dtype));
  }
  EXPECT_EQ(*changed, count > 0);
  return count;
}

// [24,10] codes with a scale for each column, read by so many rows.
std::string Model(const std::string& rows, const std::string& scale = "[1,10]",
                  const std::string& number = "0.5") {
  return "%0 = input() : bf16[" + rows +
         ",24] %1 = constant() {value=1.0} : f16[24,10] "
         "%2 = cast(%1) : f32[24,10] %3 = constant() {value=" +
         number + "} : f32" + scale +
         " %4 = mul(%2, %3) : f32[24,10] %5 = cast(%4) : bf16[24,10] "
         "%6 = matmul(%0, %5) : bf16[" +
         rows + ",10] return %6";
}

TEST(PackFloat8Weights, TakesScalesOfColumnsAndOfAll) {
  for (const char* scale : {"[1,10]", "[10]", "[]", "[1,1]"}) {
    EXPECT_EQ(CountPacked(WithCodes(Model("4", scale), 240), kReads), 1) << scale;
  }
}

TEST(PackFloat8Weights, TakesTransposedMatrices) {
  const std::string before =
      "%0 = input() : f16[2,3,24] %1 = constant() {value=1.0} : f16[10,24] "
      "%2 = cast(%1) : f32[10,24] %3 = constant() {value=0.25} : f32";
  const std::string after =
      " %4 = mul(%2, %3) : f32[10,24] %5 = cast(%4) : f16[10,24] "
      "%6 = transpose(%5) {perm=[1,0]} : f16[24,10] %7 = matmul(%0, %6) : f16[2,3,10] return %7";
  EXPECT_EQ(CountPacked(WithCodes(before + "[10,1]" + after, 240), kReads), 1);
  // Along what is summed.
  EXPECT_EQ(CountPacked(WithCodes(before + "[1,24]" + after, 240), kReads), 0);
}

TEST(PackFloat8Weights, LeavesWhatNoKernelReads) {
  EXPECT_EQ(CountPacked(WithCodes(Model("17"), 240), kReads), 0);
  EXPECT_EQ(CountPacked(WithCodes(Model("4", "[24,1]"), 240), kReads), 0);
  // No float8: a number between two of them, and one that is none.
  EXPECT_EQ(CountPacked(WithCodes(Model("4"), 240, 1.0625), kReads), 0);
  EXPECT_EQ(CountPacked(WithCodes(Model("4"), 240, INFINITY), kReads, -1), 0);
  // 0.3 is no bf16.
  EXPECT_EQ(CountPacked(WithCodes(Model("4", "[1,10]", "0.3"), 240), kReads), 0);
  EXPECT_EQ(CountPacked(WithCodes(Model("4"), 240), {.rows = 16, .narrow = true}), 0);
}

TEST(PackFloat8Weights, TakesSinglePrecisionThatWillBeNarrow) {
  const std::string text =
      "%0 = input() : f32[4,24] %1 = constant() {value=1.0} : f16[24,10] "
      "%2 = cast(%1) : f32[24,10] %3 = constant() {value=0.3} : f32[] "
      "%4 = mul(%2, %3) : f32[24,10] %5 = matmul(%0, %4) : f32[4,10] "
      "%6 = abs(%4) : f32[24,10] return %5, %6";
  EXPECT_EQ(CountPacked(WithCodes(text, 240), kReads), 0);
  EXPECT_EQ(CountPacked(WithCodes(text, 240), kWide, 1e-6), 1);
}

TEST(PackFloat8Weights, PacksAMatrixOfTwoProductsOnce) {
  const std::string text =
      "%0 = input() : f16[4,16] %1 = constant() {value=1.0} : f16[16,16] "
      "%2 = cast(%1) : f32[16,16] %3 = cast(%2) : f16[16,16] "
      "%4 = matmul(%0, %3) : f16[4,16] %5 = matmul(%4, %3) : f16[4,16] return %5";
  EXPECT_EQ(CountPacked(WithCodes(text, 256), kReads), 1);
}

}  // namespace
}  // namespace mlc::graph
