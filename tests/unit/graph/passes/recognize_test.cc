#include "compiler/graph/passes/recognize_attention.h"
#include "compiler/graph/passes/recognize_norms.h"
#include "compiler/graph/passes/spread_norms.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

TEST(RecognizeNorms, LayerNormWithScaleAndBias) {
  Check(RecognizeNorms,
        "%0 = input() : f32[3,4] %1 = constant() {value=0.001} : f32[] "
        "%2 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[4] "
        "%3 = constant() {values=[0.0,1.0,0.0,1.0]} : f32[4] "
        "%4 = reduce(%0) {axes=[1], kind=mean} : f32[3,1] %5 = sub(%0, %4) : f32[3,4] "
        "%6 = mul(%5, %5) : f32[3,4] %7 = reduce(%6) {axes=[1], kind=mean} : f32[3,1] "
        "%8 = add(%7, %1) : f32[3,1] %9 = sqrt(%8) : f32[3,1] %10 = div(%5, %9) : f32[3,4] "
        "%11 = mul(%10, %2) : f32[3,4] %12 = add(%11, %3) : f32[3,4] return %12",
        "%0 = input() : f32[3,4] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[4] "
        "%2 = constant() {values=[0.0,1.0,0.0,1.0]} : f32[4] "
        "%3 = layer_norm(%0, %1, %2) {axis=1, epsilon=0.001} : f32[3,4] return %3");
}

TEST(RecognizeNorms, LayerNormWithRsqrt) {
  Check(RecognizeNorms,
        "%0 = input() : f32[3,4] %1 = constant() {value=0.001} : f32[] "
        "%2 = reduce(%0) {axes=[1], kind=mean} : f32[3,1] %3 = sub(%0, %2) : f32[3,4] "
        "%4 = mul(%3, %3) : f32[3,4] %5 = reduce(%4) {axes=[1], kind=mean} : f32[3,1] "
        "%6 = add(%5, %1) : f32[3,1] %7 = rsqrt(%6) : f32[3,1] %8 = mul(%3, %7) : f32[3,4] "
        "return %8",
        "%0 = input() : f32[3,4] %1 = layer_norm(%0, _, _) {axis=1, epsilon=0.001} : f32[3,4] "
        "return %1");
}

TEST(RecognizeNorms, RootMeanSquareWithScale) {
  Check(RecognizeNorms,
        "%0 = input() : f32[3,4] %1 = constant() {value=0.001} : f32[] "
        "%2 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[4] %3 = mul(%0, %0) : f32[3,4] "
        "%4 = reduce(%3) {axes=[1], kind=mean} : f32[3,1] %5 = add(%4, %1) : f32[3,1] "
        "%6 = rsqrt(%5) : f32[3,1] %7 = mul(%0, %6) : f32[3,4] %8 = mul(%7, %2) : f32[3,4] "
        "return %8",
        "%0 = input() : f32[3,4] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[4] "
        "%2 = layer_norm(%0, %1, _) {axis=1, epsilon=0.001, kind=rms} : f32[3,4] return %2");
}

TEST(RecognizeNorms, UnitLengthInEachForm) {
  const std::string x = "%0 = input() : f32[3,4] %1 = constant() {value=0.25} : f32[] ";
  const std::string norm = "%0 = input() : f32[3,4] %1 = layer_norm(%0, _, _) {axis=1, epsilon=";
  for (const auto& [body, least] :
       {std::pair{"%2 = reduce(%0) {axes=[1], kind=l2} : f32[3,1] %3 = max(%2, %1) : f32[3,1] "
                  "%4 = div(%0, %3) : f32[3,4] return %4",
                  "0.25"},
        std::pair{"%2 = reduce(%0) {axes=[1], keepdims=0, kind=l2} : f32[3] "
                  "%3 = max(%2, %1) : f32[3] %4 = reshape(%3) : f32[3,1] "
                  "%5 = div(%0, %4) : f32[3,4] return %5",
                  "0.25"},
        std::pair{"%2 = mul(%0, %0) : f32[3,4] %3 = reduce(%2) {axes=[1], kind=sum} : f32[3,1] "
                  "%4 = sqrt(%3) : f32[3,1] %5 = div(%0, %4) : f32[3,4] return %5",
                  "0.0"},
        std::pair{"%2 = reduce(%0) {axes=[1], kind=sum_square} : f32[3,1] "
                  "%3 = max(%2, %1) : f32[3,1] %4 = rsqrt(%3) : f32[3,1] "
                  "%5 = mul(%0, %4) : f32[3,4] return %5",
                  "0.5"}}) {
    Check(RecognizeNorms, x + body, norm + least + ", kind=l2} : f32[3,4] return %1");
  }
}

TEST(RecognizeNorms, LeavesLengthsOfOthersAndOtherBounds) {
  const std::string x = "%0 = input() : f32[4,4] ";
  for (const char* rest :
       {"%1 = input() : f32[4,4] %2 = reduce(%1) {axes=[1], kind=l2} : f32[4,1] "
        "%3 = div(%0, %2) : f32[4,4] return %3",
        "%1 = reduce(%0) {axes=[0], kind=l2} : f32[1,4] %2 = div(%0, %1) : f32[4,4] return %2",
        "%1 = reduce(%0) {axes=[1], keepdims=0, kind=l2} : f32[4] "
        "%2 = div(%0, %1) : f32[4,4] return %2",
        "%1 = reduce(%0) {axes=[1], kind=l1} : f32[4,1] %2 = div(%0, %1) : f32[4,4] return %2",
        "%1 = constant() {value=0.25} : f32[] %2 = reduce(%0) {axes=[1], kind=l2} : f32[4,1] "
        "%3 = add(%2, %1) : f32[4,1] %4 = div(%0, %3) : f32[4,4] return %4"}) {
    Check(RecognizeNorms, x + rest, x + rest);
  }
}

TEST(RecognizeNorms, LeavesInstanceNorm) {
  const char* body =
      "%0 = input() : f32[3,4] %1 = constant() {value=0.001} : f32[] "
      "%2 = reduce(%0) {axes=[0], kind=mean} : f32[1,4] %3 = sub(%0, %2) : f32[3,4] "
      "%4 = mul(%3, %3) : f32[3,4] %5 = reduce(%4) {axes=[0], kind=mean} : f32[1,4] "
      "%6 = add(%5, %1) : f32[1,4] %7 = sqrt(%6) : f32[1,4] %8 = div(%3, %7) : f32[3,4] "
      "return %8";
  Check(RecognizeNorms, body, body);
}

TEST(RecognizeNorms, Softmax) {
  Check(RecognizeNorms,
        "%0 = input() : f32[3,4] %1 = reduce(%0) {axes=[1], kind=max} : f32[3,1] "
        "%2 = sub(%0, %1) : f32[3,4] %3 = exp(%2) : f32[3,4] "
        "%4 = reduce(%3) {axes=[1], kind=sum} : f32[3,1] %5 = div(%3, %4) : f32[3,4] "
        "%6 = log(%5) : f32[3,4] return %6",
        "%0 = input() : f32[3,4] %1 = log_softmax(%0) {axis=1} : f32[3,4] return %1");
}

TEST(SpreadNorms, GroupsAreDimensions) {
  Check(SpreadNorms,
        "%0 = input() : f32[2,6,3,4] %1 = reshape(%0) : f32[2,3,24] "
        "%2 = layer_norm(%1, _, _) {axis=2, epsilon=0.001} : f32[2,3,24] "
        "%3 = reshape(%2) : f32[2,6,3,4] return %3",
        "%0 = input() : f32[2,6,3,4] %1 = reshape(%0) : f32[2,3,2,3,4] "
        "%2 = layer_norm(%1, _, _) {axis=2, epsilon=0.001} : f32[2,3,2,3,4] "
        "%3 = reshape(%2) : f32[2,3,24] %4 = reshape(%3) : f32[2,6,3,4] return %4");
}

TEST(SpreadNorms, OneGroupAndEveryChannelKeepTheDimensions) {
  Check(SpreadNorms,
        "%0 = input() : f32[1,6,3,4] %1 = reshape(%0) : f32[1,1,72] "
        "%2 = layer_norm(%1, _, _) {axis=2, epsilon=0.001} : f32[1,1,72] return %2",
        "%0 = input() : f32[1,6,3,4] "
        "%1 = layer_norm(%0, _, _) {axis=1, epsilon=0.001} : f32[1,6,3,4] "
        "%2 = reshape(%1) : f32[1,1,72] return %2");
  Check(SpreadNorms,
        "%0 = input() : f32[2,6,3,4] %1 = reshape(%0) : f32[2,6,12] "
        "%2 = layer_norm(%1, _, _) {axis=2, epsilon=0.001} : f32[2,6,12] return %2",
        "%0 = input() : f32[2,6,3,4] "
        "%1 = layer_norm(%0, _, _) {axis=2, epsilon=0.001} : f32[2,6,3,4] "
        "%2 = reshape(%1) : f32[2,6,12] return %2");
}

TEST(SpreadNorms, LeavesRowsAndScaledNorms) {
  for (const char* body :
       {"%0 = input() : f32[1,2,3,4] %1 = reshape(%0) : f32[6,4] "
        "%2 = layer_norm(%1, _, _) {axis=1, epsilon=0.001} : f32[6,4] return %2",
        "%0 = input() : f32[1,2,3,4] %1 = reshape(%0) : f32[4,6] "
        "%2 = layer_norm(%1, _, _) {axis=1, epsilon=0.001} : f32[4,6] return %2",
        "%0 = input() : f32[1,2,3,4] %1 = input() : f32[24] %2 = reshape(%0) : f32[1,24] "
        "%3 = layer_norm(%2, %1) {axis=1, epsilon=0.001} : f32[1,24] return %3"}) {
    Check(SpreadNorms, body, body);
  }
}

constexpr char kHeads[] =
    "%0 = input() : f32[2,3,5,4] %1 = input() : f32[2,3,4,6] %2 = input() : f32[2,3,6,4] ";

TEST(RecognizeAttention, ScaledScoresWithMask) {
  Check(RecognizeAttention,
        std::string(kHeads) +
            "%3 = input() : f32[2,1,5,6] %4 = constant() {value=0.5} : f32[] "
            "%5 = matmul(%0, %1) : f32[2,3,5,6] %6 = mul(%5, %4) : f32[2,3,5,6] "
            "%7 = add(%6, %3) : f32[2,3,5,6] %8 = softmax(%7) {axis=3} : f32[2,3,5,6] "
            "%9 = matmul(%8, %2) : f32[2,3,5,4] return %9",
        std::string(kHeads) +
            "%3 = input() : f32[2,1,5,6] %4 = transpose(%1) {perm=[0,1,3,2]} : f32[2,3,6,4] "
            "%5 = attention(%0, %4, %2, %3) {scale=0.5} : f32[2,3,5,4] return %5");
}

TEST(RecognizeAttention, ScaleOnBothOperands) {
  Check(RecognizeAttention,
        std::string(kHeads) +
            "%3 = constant() {value=0.5} : f32[] %4 = mul(%0, %3) : f32[2,3,5,4] "
            "%5 = mul(%1, %3) : f32[2,3,4,6] %6 = matmul(%4, %5) : f32[2,3,5,6] "
            "%7 = softmax(%6) {axis=3} : f32[2,3,5,6] %8 = matmul(%7, %2) : f32[2,3,5,4] return %8",
        std::string(kHeads) +
            "%3 = transpose(%1) {perm=[0,1,3,2]} : f32[2,3,6,4] "
            "%4 = attention(%0, %3, %2) {scale=0.25} : f32[2,3,5,4] return %4");
}

TEST(RecognizeAttention, SelectedMaskAndRankThree) {
  Check(RecognizeAttention,
        "%0 = input() : f32[3,5,4] %1 = input() : f32[3,4,6] %2 = input() : f32[3,6,4] "
        "%3 = input() : bool[5,6] %4 = constant() {value=-1e10} : f32[] "
        "%5 = matmul(%0, %1) : f32[3,5,6] %6 = select(%3, %5, %4) : f32[3,5,6] "
        "%7 = softmax(%6) {axis=2} : f32[3,5,6] %8 = matmul(%7, %2) : f32[3,5,4] return %8",
        "%0 = input() : f32[3,5,4] %1 = input() : f32[3,4,6] %2 = input() : f32[3,6,4] "
        "%3 = input() : bool[5,6] %4 = transpose(%1) {perm=[0,2,1]} : f32[3,6,4] "
        "%5 = reshape(%4) : f32[1,3,6,4] %6 = reshape(%2) : f32[1,3,6,4] "
        "%7 = reshape(%0) : f32[1,3,5,4] %8 = constant() {value=0.0} : f32[] "
        "%9 = constant() {value=-1e10} : f32[] %10 = select(%3, %8, %9) : f32[5,6] "
        "%11 = attention(%7, %5, %6, %10) {scale=1.0} : f32[1,3,5,4] %12 = reshape(%11) : "
        "f32[3,5,4] return %12");
}

TEST(RecognizeAttention, LeavesWhatHasNoKeys) {
  // Without elements, any shape may become any other.
  Result<Graph> graph = Graph::Parse(
      "graph v1 { %0 = input() : f32[2,3,5,4] %1 = input() : f32[2,3,4,0] "
      "%2 = input() : f32[7,0,4] %3 = matmul(%0, %1) : f32[2,3,5,0] "
      "%4 = reshape(%3) : f32[7,5,0] %5 = softmax(%4) {axis=2} : f32[7,5,0] "
      "%6 = matmul(%5, %2) : f32[7,5,4] return %6 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Result<bool> changed = RecognizeAttention(*graph);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
  EXPECT_TRUE(UnfusedAttention(*graph).empty());
}

TEST(RecognizeAttention, LeavesScoresThatOthersRead) {
  const std::string body =
      std::string(kHeads) +
      "%3 = matmul(%0, %1) : f32[2,3,5,6] %4 = softmax(%3) {axis=3} : f32[2,3,5,6] "
      "%5 = matmul(%4, %2) : f32[2,3,5,4] return %5, %4";
  Check(RecognizeAttention, body, body);
}

}  // namespace
}  // namespace mlc::graph
