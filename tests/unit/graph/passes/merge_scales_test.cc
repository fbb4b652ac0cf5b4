#include "compiler/graph/passes/merge_scales.h"

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

const std::string kSums =
    "%0 = input() : u8[2,4] %1 = constant() {values=[1,-2,3,-4,5,-6,7,-128]} : i8[4,2] "
    "%2 = matmul(%0, %1) : i32[2,2] ";

TEST(MergeScales, ScalesAndAddsToSumsAtOnce) {
  Check(MergeScales,
        kSums +
            "%3 = cast(%2) : f32[2,2] %4 = constant() {values=[0.25,0.5]} : f32[2] "
            "%5 = mul(%3, %4) : f32[2,2] %6 = constant() {values=[1.0,2.0]} : f32[2] "
            "%7 = add(%5, %6) : f32[2,2] %8 = constant() {value=4.0} : f32[] "
            "%9 = mul(%7, %8) : f32[2,2] %10 = round(%9) : f32[2,2] return %10",
        kSums +
            "%3 = cast(%2) : f32[2,2] %4 = constant() {values=[1.0,2.0]} : f32[2] "
            "%5 = constant() {values=[4.0,8.0]} : f32[2] %6 = fma(%3, %4, %5) : f32[2,2] "
            "%7 = round(%6) : f32[2,2] return %7");
}

TEST(MergeScales, SubtractsTheZeroPointsPartInFloats) {
  Check(MergeScales,
        kSums +
            "%3 = constant() {values=[8,-128]} : i32[2] %4 = sub(%2, %3) : i32[2,2] "
            "%5 = cast(%4) : f32[2,2] %6 = constant() {values=[0.25,0.5]} : f32[2] "
            "%7 = mul(%5, %6) : f32[2,2] return %7",
        kSums +
            "%3 = constant() {values=[0.25,0.5]} : f32[2] %4 = cast(%2) : f32[2,2] "
            "%5 = constant() {values=[-2.0,64.0]} : f32[2] %6 = fma(%4, %3, %5) : f32[2,2] "
            "return %6");
}

// Two decoded tensors are added and rounded: each takes one multiplication.
TEST(MergeScales, AddsCodesThatAreRoundedAgain) {
  Check(MergeScales,
        "%0 = input() : u8[4] %1 = input() : u8[4] %2 = constant() {value=-2.0} : f32[] "
        "%3 = constant() {value=0.5} : f32[] %4 = constant() {value=2.0} : f32[] "
        "%5 = cast(%0) : f32[4] %6 = add(%5, %2) : f32[4] %7 = mul(%6, %3) : f32[4] "
        "%8 = cast(%1) : f32[4] %9 = mul(%8, %4) : f32[4] %10 = add(%7, %9) : f32[4] "
        "%11 = mul(%10, %3) : f32[4] %12 = round(%11) : f32[4] return %12",
        "%0 = input() : u8[4] %1 = input() : u8[4] %2 = cast(%0) : f32[4] %3 = cast(%1) : f32[4] "
        "%4 = constant() {value=0.25} : f32[] %5 = constant() {value=1.0} : f32[] "
        "%6 = constant() {value=-0.5} : f32[] %7 = fma(%2, %4, %6) : f32[4] "
        "%8 = fma(%3, %5, %7) : f32[4] %9 = round(%8) : f32[4] return %9");
}

// A decoded zero is zero, which one multiplication and addition would round to something else.
TEST(MergeScales, LeavesDecodingAndSharedValues) {
  const std::string decoding =
      "%0 = input() : u8[4] %1 = cast(%0) : f32[4] %2 = constant() {value=-3.0} : f32[] "
      "%3 = add(%1, %2) : f32[4] %4 = constant() {value=0.3} : f32[] %5 = mul(%3, %4) : f32[4] "
      "return %5";
  Check(MergeScales, decoding, decoding);
  const std::string shared =
      kSums +
      "%3 = cast(%2) : f32[2,2] %4 = constant() {value=0.5} : f32[] %5 = mul(%3, %4) : f32[2,2] "
      "%6 = add(%5, %4) : f32[2,2] return %5, %6";
  Check(MergeScales, shared, shared);
}

}  // namespace
}  // namespace mlc::graph
