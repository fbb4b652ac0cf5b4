#include "compiler/graph/passes/integer_products.h"

#include "compiler/graph/byte_product.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

// Rows of [2,4] with a zero point of 2 and a scale of 0.5.
const std::string kRows =
    "%0 = input() : u8[2,4] %1 = cast(%0) : f32[2,4] %2 = constant() {value=2.0} : f32[] "
    "%3 = sub(%1, %2) : f32[2,4] %4 = constant() {value=0.5} : f32[] "
    "%5 = mul(%3, %4) : f32[2,4] ";
const std::string kColumns =
    "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-128]} : i8[4,2] %7 = cast(%6) : f32[4,2] "
    "%8 = constant() {values=[0.25,0.125]} : f32[1,2] %9 = mul(%7, %8) : f32[4,2] ";

Graph Parsed(const std::string& body) {
  const Result<Graph> graph = Graph::Parse("graph v1 { " + body + " }");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

int CountProductsOfBytes(const Graph& graph) {
  int count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) count += IsProductOfBytes(graph, graph[id]) ? 1 : 0;
  return count;
}

// The graph computes the same with products of bytes, and again without.
void ExpectBytes(const std::string& body, int products = 1) {
  SCOPED_TRACE(body);
  const Graph before = Parsed(body);
  Graph after = before;
  const Result<bool> changed = MultiplyBytes(after, true);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  ASSERT_TRUE(after.Verify().ok()) << after.Verify().message();
  EXPECT_EQ(CountProductsOfBytes(after), products) << after.ToText();
  EXPECT_LE(Difference(before, after, 3), 1e-6);
  const Result<bool> back = SpellOutProductsOfBytes(after);
  ASSERT_TRUE(back.ok()) << back.status().message();
  ASSERT_TRUE(after.Verify().ok()) << after.Verify().message();
  EXPECT_EQ(CountProductsOfBytes(after), 0);
  EXPECT_LE(Difference(before, after, 4), 1e-6);
}

TEST(MultiplyBytes, SubtractsWhatTheZeroPointAdds) {
  ExpectBytes(kRows + kColumns + "%10 = matmul(%5, %9) : f32[2,2] return %10");
}

TEST(MultiplyBytes, MovesSignedRowsToUnsignedOnes) {
  ExpectBytes(
      "%0 = input() : i8[2,4] %1 = cast(%0) : f32[2,4] %2 = constant() {value=0.5} : f32[] "
      "%3 = mul(%1, %2) : f32[2,4] %4 = constant() {values=[9,8,7,6,5,4,3,2]} : i8[4,2] "
      "%5 = cast(%4) : f32[4,2] %6 = constant() {value=0.5} : f32[] "
      "%7 = mul(%5, %6) : f32[4,2] %8 = matmul(%3, %7) : f32[2,2] return %8");
}

TEST(MultiplyBytes, TurnsTransposedWeightsWithTheirScales) {
  ExpectBytes(kRows +
              "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-128]} : i8[2,4] %7 = cast(%6) : "
              "f32[2,4] %8 = constant() {values=[0.25,0.125]} : f32[2,1] "
              "%9 = mul(%7, %8) : f32[2,4] %10 = transpose(%9) {perm=[1,0]} : f32[4,2] "
              "%11 = matmul(%5, %10) : f32[2,2] return %11");
}

TEST(MultiplyBytes, TakesUnsignedWeightsWhoseCentredCodesFit) {
  const auto weights = [](const std::string& zero) {
    return "%6 = constant() {values=[128,0,255,127,1,2,3,4]} : u8[4,2] %7 = cast(%6) : f32[4,2] "
           "%8 = constant() {value=" +
           zero +
           "} : f32[] %9 = sub(%7, %8) : f32[4,2] "
           "%10 = constant() {value=0.5} : f32[] %11 = mul(%9, %10) : f32[4,2] "
           "%12 = matmul(%5, %11) : f32[2,2] return %12";
  };
  ExpectBytes(kRows + weights("128.0"));
  ExpectBytes(kRows + weights("100.0"), 0);
}

// Beyond the border an image is zero, which is the zero point's code.
TEST(MultiplyBytes, PadsImagesWithTheZeroPoint) {
  ExpectBytes(
      "%0 = input() : u8[1,8,3,3] %1 = cast(%0) : f32[1,8,3,3] "
      "%2 = constant() {value=2.0} : f32[] %3 = sub(%1, %2) : f32[1,8,3,3] "
      "%4 = constant() {value=0.5} : f32[] %5 = mul(%3, %4) : f32[1,8,3,3] "
      "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-8,9,10,11,12,13,14,15,16]} : i8[2,8,1,1] "
      "%7 = cast(%6) : f32[2,8,1,1] %8 = constant() {values=[0.25,0.125]} : f32[2,1,1,1] "
      "%9 = mul(%7, %8) : f32[2,8,1,1] "
      "%10 = conv(%5, %9) {pads=[1,1,1,1]} : f32[1,2,5,5] return %10");
}

// Three channels fill a word with a fourth, whatever it is.
TEST(MultiplyBytes, PadsChannelsToWords) {
  for (const char* const pads : {"[0,0,0,0]", "[1,0,0,1]"}) {
    const std::string out = pads[1] == '0' ? "[1,2,2,2]" : "[1,2,3,3]";
    ExpectBytes(
        "%0 = input() : u8[1,3,3,2] %1 = cast(%0) : f32[1,3,3,2] "
        "%2 = constant() {value=2.0} : f32[] %3 = sub(%1, %2) : f32[1,3,3,2] "
        "%4 = constant() {value=0.5} : f32[] %5 = mul(%3, %4) : f32[1,3,3,2] "
        "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-8,9,10,11,-12]} : i8[2,3,2,1] "
        "%7 = cast(%6) : f32[2,3,2,1] %8 = mul(%7, %4) : f32[2,3,2,1] "
        "%9 = conv(%5, %8) {pads=" +
        std::string(pads) + "} : f32" + out + " return %9");
  }
}

TEST(MultiplyBytes, TakesOneFilterForEachChannelWhereKernelsDo) {
  const std::string body =
      "%0 = input() : u8[1,2,3,3] %1 = cast(%0) : f32[1,2,3,3] "
      "%2 = constant() {value=2.0} : f32[] %3 = sub(%1, %2) : f32[1,2,3,3] "
      "%4 = constant() {value=0.5} : f32[] %5 = mul(%3, %4) : f32[1,2,3,3] "
      "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-8]} : i8[2,1,2,2] "
      "%7 = cast(%6) : f32[2,1,2,2] %8 = constant() {values=[0.25,0.125]} : f32[2,1,1,1] "
      "%9 = mul(%7, %8) : f32[2,1,2,2] "
      "%10 = conv(%5, %9) {group=2, pads=[1,1,1,1]} : f32[1,2,4,4] return %10";
  ExpectBytes(body);
  Graph without = Parsed(body);
  ASSERT_TRUE(MultiplyBytes(without, false).ok());
  EXPECT_EQ(CountProductsOfBytes(without), 0);
}

TEST(MultiplyBytes, LeavesDepthsThatAreNoWordsAndScalesAlongTheDepth) {
  ExpectBytes(
      "%0 = input() : u8[2,3] %1 = cast(%0) : f32[2,3] %2 = constant() {value=0.5} : f32[] "
      "%3 = mul(%1, %2) : f32[2,3] %4 = constant() {values=[1,2,3,4,5,6]} : i8[3,2] "
      "%5 = cast(%4) : f32[3,2] %6 = mul(%5, %2) : f32[3,2] "
      "%7 = matmul(%3, %6) : f32[2,2] return %7",
      0);
  ExpectBytes(kRows +
                  "%6 = constant() {values=[1,-2,3,-4,5,-6,7,-128]} : i8[4,2] %7 = cast(%6) : "
                  "f32[4,2] %8 = constant() {values=[0.5,0.25,2.0,1.0]} : f32[4,1] "
                  "%9 = mul(%7, %8) : f32[4,2] %10 = matmul(%5, %9) : f32[2,2] return %10",
              0);
}

TEST(SpellOutProductsOfBytes, SumsExactPartsOfDeepProducts) {
  const Graph before = Parsed(
      "%0 = input() : u8[2,1200] %1 = input() : i8[1200,3] %2 = matmul(%0, %1) : i32[2,3] "
      "return %2");
  Graph after = before;
  ASSERT_TRUE(SpellOutProductsOfBytes(after).ok());
  int products = 0;
  for (ValueId id = 0; id < after.size(); ++id) products += after[id].op == Op::kMatMul ? 1 : 0;
  EXPECT_EQ(products, 3);
  EXPECT_EQ(Difference(before, after, 5), 0);
}

}  // namespace
}  // namespace mlc::graph
