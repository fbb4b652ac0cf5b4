#include "compiler/graph/passes/canonicalize_matmul.h"
#include "compiler/graph/passes/merge_siblings.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

TEST(CanonicalizeMatMul, FlattensAndSinksTheReshape) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] %2 = weight() : f32[5] "
        "%3 = input() : f32[2,3,5] %4 = matmul(%0, %1) : f32[2,3,5] %5 = add(%4, %2) : f32[2,3,5] "
        "%6 = add(%3, %5) : f32[2,3,5] %7 = layer_norm(%6) {axis=2} : f32[2,3,5] return %7",
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] %2 = weight() : f32[5] "
        "%3 = input() : f32[2,3,5] %4 = reshape(%0) : f32[6,4] %5 = matmul(%4, %1) : f32[6,5] "
        "%6 = add(%5, %2) : f32[6,5] %7 = reshape(%3) : f32[6,5] %8 = add(%7, %6) : f32[6,5] "
        "%9 = layer_norm(%8) {axis=1} : f32[6,5] %10 = reshape(%9) : f32[2,3,5] return %10");
}

TEST(CanonicalizeMatMul, DoesNotSwapRowsThatAreSwappedBack) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,2,3,1] %1 = transpose(%0) {perm=[2,0,1,3]} : f32[3,2,2,1] "
        "%2 = reshape(%1) : f32[6,2] %3 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,2] "
        "%4 = matmul(%2, %3) : f32[6,2] %5 = constant() {values=[1.0,2.0]} : f32[2] "
        "%6 = add(%4, %5) : f32[6,2] %7 = reshape(%6) : f32[3,2,2] "
        "%8 = transpose(%7) {perm=[1,0,2]} : f32[2,3,2] return %8",
        "%0 = input() : f32[2,2,3,1] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,2] "
        "%2 = constant() {values=[1.0,2.0]} : f32[2] "
        "%3 = transpose(%0) {perm=[0,2,1,3]} : f32[2,3,2,1] %4 = reshape(%3) : f32[6,2] "
        "%5 = matmul(%4, %1) : f32[6,2] %6 = add(%5, %2) : f32[6,2] "
        "%7 = reshape(%6) : f32[2,3,2] return %7");
}

TEST(CanonicalizeMatMul, LeavesRowsThatStaySwapped) {
  const std::string text =
      "%0 = input() : f32[2,2,3,1] %1 = transpose(%0) {perm=[2,0,1,3]} : f32[3,2,2,1] "
      "%2 = reshape(%1) : f32[6,2] %3 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,2] "
      "%4 = matmul(%2, %3) : f32[6,2] %5 = reshape(%4) : f32[3,2,2] ";
  Check(CanonicalizeMatMul, text + "return %5", text + "return %5");
  // They have another reader.
  const std::string both = text + "%6 = transpose(%5) {perm=[1,0,2]} : f32[2,3,2] return %6, %5";
  Check(CanonicalizeMatMul, both, both);
}

TEST(CanonicalizeMatMul, KeepsThePrecision) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] "
        "%2 = matmul(%0, %1) {precision=i8} : f32[2,3,5] return %2",
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] %2 = reshape(%0) : f32[6,4] "
        "%3 = matmul(%2, %1) {precision=i8} : f32[6,5] %4 = reshape(%3) : f32[2,3,5] return %4");
}

TEST(CanonicalizeMatMul, FlattensLayerNorms) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4] %2 = weight() : f32[4] "
        "%3 = layer_norm(%0, %1, %2) {axis=2} : f32[2,3,4] return %3",
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4] %2 = weight() : f32[4] "
        "%3 = reshape(%0) : f32[6,4] %4 = layer_norm(%3, %1, %2) {axis=1} : f32[6,4] "
        "%5 = reshape(%4) : f32[2,3,4] return %5");
  const char* whole =
      "%0 = input() : f32[2,3,4] %1 = layer_norm(%0) {axis=1} : f32[2,3,4] return %1";
  Check(CanonicalizeMatMul, whole, whole);
}

TEST(CanonicalizeMatMul, LeavesNormsOfHeadsInPackedProjections) {
  const char* queries =
      "%0 = input() : f32[2,5,3,2,4] %1 = transpose(%0) {perm=[2,0,3,1,4]} : f32[3,2,2,5,4] "
      "%2 = slice(%1) {starts=[1,0,0,0,0]} : f32[1,2,2,5,4] %3 = reshape(%2) : f32[2,2,5,4] "
      "%4 = layer_norm(%3) {axis=3} : f32[2,2,5,4] return %4";
  Check(CanonicalizeMatMul, queries, queries);
}

TEST(CanonicalizeMatMul, FlattensNormsOfRowsThatAreEvenlySpaced) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,8] %1 = slice(%0) {starts=[0,0,4]} : f32[2,3,4] "
        "%2 = layer_norm(%1) {axis=2} : f32[2,3,4] return %2",
        "%0 = input() : f32[2,3,8] %1 = slice(%0) {starts=[0,0,4]} : f32[2,3,4] "
        "%2 = reshape(%1) : f32[6,4] %3 = layer_norm(%2) {axis=1} : f32[6,4] "
        "%4 = reshape(%3) : f32[2,3,4] return %4");
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,4] %1 = slice(%0) {starts=[0,2,0]} : f32[2,1,4] "
        "%2 = layer_norm(%1) {axis=2} : f32[2,1,4] return %2",
        "%0 = input() : f32[2,3,4] %1 = slice(%0) {starts=[0,2,0]} : f32[2,1,4] "
        "%2 = reshape(%1) : f32[2,4] %3 = layer_norm(%2) {axis=1} : f32[2,4] "
        "%4 = reshape(%3) : f32[2,1,4] return %4");
}

TEST(CanonicalizeMatMul, SinksBelowPointwiseOfOneElement) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[1] %1 = reshape(%0) : f32[1,1] %2 = abs(%1) : f32[1,1] return %2",
        "%0 = input() : f32[1] %1 = abs(%0) : f32[1] %2 = reshape(%1) : f32[1,1] return %2");
}

TEST(CanonicalizeMatMul, LeavesRealBatches) {
  const char* body =
      "%0 = input() : f32[2,3,4] %1 = input() : f32[2,4,5] %2 = matmul(%0, %1) : f32[2,3,5] return "
      "%2";
  Check(CanonicalizeMatMul, body, body);
}

TEST(CanonicalizeMatMul, StopsAtOperandsOfAnotherSpace) {
  Check(CanonicalizeMatMul,
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] %2 = weight() : f32[3,1] "
        "%3 = matmul(%0, %1) : f32[2,3,5] %4 = add(%3, %2) : f32[2,3,5] return %4",
        "%0 = input() : f32[2,3,4] %1 = weight() : f32[4,5] %2 = weight() : f32[3,1] "
        "%3 = reshape(%0) : f32[6,4] %4 = matmul(%3, %1) : f32[6,5] %5 = reshape(%4) : f32[2,3,5] "
        "%6 = add(%5, %2) : f32[2,3,5] return %6");
}

TEST(MergeSiblings, MatricesAndBiases) {
  Check(MergeSiblings,
        "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[2,2] "
        "%2 = constant() {values=[5.0,6.0]} : f32[2,1] %3 = constant() {values=[7.0,8.0]} : f32[2] "
        "%4 = constant() {values=[9.0]} : f32[1] %5 = matmul(%0, %1) : f32[3,2] "
        "%6 = matmul(%0, %2) : f32[3,1] %7 = add(%5, %3) : f32[3,2] %8 = add(%6, %4) : f32[3,1] "
        "return %7, %8",
        "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0,5.0,3.0,4.0,6.0]} : f32[2,3] "
        "%2 = matmul(%0, %1) : f32[3,3] %3 = constant() {values=[7.0,8.0,9.0]} : f32[3] "
        "%4 = add(%2, %3) : f32[3,3] %5 = slice(%4) {starts=[0,0]} : f32[3,2] "
        "%6 = slice(%4) {starts=[0,2]} : f32[3,1] return %5, %6");
}

TEST(MergeSiblings, MatricesOfFewBits) {
  const std::string form = " {bits=4, block=2, depth=2, zero=1} : ";
  Check(MergeSiblings,
        "%0 = input() : f32[3,2] %1 = constant() {values=[33]} : u8[1,1] "
        "%2 = constant() {values=[2.0]} : f32[1,1] %3 = dequantize(%1, %2)" +
            form +
            "f32[2,1] "
            "%4 = matmul(%0, %3) : f32[3,1] %5 = constant() {values=[67,18]} : u8[2,1] "
            "%6 = constant() {values=[1.0,10.0]} : f32[2,1] %7 = dequantize(%5, %6)" +
            form + "f32[2,2] %8 = matmul(%0, %7) : f32[3,2] return %4, %8",
        "%0 = input() : f32[3,2] %1 = constant() {values=[33,67,18]} : u8[3,1] "
        "%2 = constant() {values=[2.0,1.0,10.0]} : f32[3,1] %3 = dequantize(%1, %2)" +
            form +
            "f32[2,3] %4 = matmul(%0, %3) : f32[3,3] "
            "%5 = slice(%4) {starts=[0,0], steps=[1,1]} : f32[3,1] "
            "%6 = slice(%4) {starts=[0,1], steps=[1,1]} : f32[3,2] return %5, %6");
}

TEST(MergeSiblings, LeavesMatricesOfOtherBlocks) {
  const std::string text =
      "%0 = input() : f32[3,2] %1 = constant() {values=[33]} : u8[1,1] "
      "%2 = constant() {values=[2.0]} : f32[1,1] "
      "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,1] "
      "%4 = matmul(%0, %3) : f32[3,1] "
      "%5 = dequantize(%1, %2) {bits=4, block=4, depth=2, zero=1} : f32[2,1] "
      "%6 = matmul(%0, %5) : f32[3,1] return %4, %6";
  Check(MergeSiblings, text, text);
}

// x of float8 by two matrices of float8, each result scaled and then so.
std::string Float8Siblings(const std::string& then) {
  return "%0 = input() : f8e4m3fn[3,2] "
         "%1 = constant() {values=[1.0,2.0]} : f8e4m3fn[2,1] "
         "%2 = constant() {values=[3.0,4.0,5.0,6.0]} : f8e4m3fn[2,2] "
         "%3 = constant() {value=0.5} : f32[] %4 = constant() {values=[0.25,2.0]} : f32[2] "
         "%5 = matmul(%0, %1) : f32[3,1] %6 = mul(%5, %3) : f32[3,1] "
         "%7 = matmul(%0, %2) : f32[3,2] %8 = mul(%7, %4) : f32[3,2] " +
         then;
}

TEST(MergeSiblings, MatricesOfFloat8AndTheirScales) {
  Check(MergeSiblings,
        Float8Siblings("%9 = reshape(%6) : f32[3] %10 = transpose(%8) {perm=[1,0]} : f32[2,3] "
                       "return %9, %10"),
        "%0 = input() : f8e4m3fn[3,2] "
        "%1 = constant() {values=[1.0,3.0,4.0,2.0,5.0,6.0]} : f8e4m3fn[2,3] "
        "%2 = matmul(%0, %1) : f32[3,3] %3 = constant() {values=[0.5,0.25,2.0]} : f32[3] "
        "%4 = mul(%2, %3) : f32[3,3] %5 = slice(%4) {starts=[0,0]} : f32[3,1] "
        "%6 = reshape(%5) : f32[3] %7 = slice(%4) {starts=[0,1]} : f32[3,2] "
        "%8 = transpose(%7) {perm=[1,0]} : f32[2,3] return %6, %8");
}

// The kernels of two products compute what follows; what follows one product would be a kernel.
TEST(MergeSiblings, LeavesMatricesOfFloat8WhoseResultsAreComputedWith) {
  const std::string text = Float8Siblings("%9 = mul(%6, %8) : f32[3,2] return %9");
  Check(MergeSiblings, text, text);
}

TEST(MergeSiblings, TransposedMatrices) {
  Check(MergeSiblings,
        "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0]} : f32[1,2] "
        "%2 = constant() {values=[5.0,6.0]} : f32[1,2] %3 = transpose(%1) {perm=[1,0]} : f32[2,1] "
        "%4 = transpose(%2) {perm=[1,0]} : f32[2,1] %5 = matmul(%0, %3) : f32[3,1] "
        "%6 = matmul(%0, %4) : f32[3,1] %7 = sub(%5, %6) : f32[3,1] return %7",
        "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0,5.0,6.0]} : f32[2,2] "
        "%2 = transpose(%1) {perm=[1,0]} : f32[2,2] %3 = matmul(%0, %2) : f32[3,2] "
        "%4 = slice(%3) {starts=[0,0]} : f32[3,1] %5 = slice(%3) {starts=[0,1]} : f32[3,1] "
        "%6 = sub(%4, %5) : f32[3,1] return %6");
}

TEST(MergeSiblings, LeavesProductsOfDifferentValues) {
  const char* body =
      "%0 = input() : f32[3,2] %1 = input() : f32[3,2] %2 = constant() {values=[1.0,2.0]} : "
      "f32[2,1] %3 = matmul(%0, %2) : f32[3,1] %4 = matmul(%1, %2) : f32[3,1] %5 = add(%3, %4) : "
      "f32[3,1] return %5";
  Check(MergeSiblings, body, body);
}

}  // namespace
}  // namespace mlc::graph
