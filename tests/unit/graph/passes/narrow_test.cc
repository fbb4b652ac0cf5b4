#include "compiler/graph/passes/narrow.h"

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

TEST(Narrow, RowsOfAProductItsNormAndItsEpilogue) {
  Check(Narrow,
        "%0 = input() : f32[6,4] %1 = weight() : f32[4,5] %2 = weight() : f32[5] "
        "%3 = matmul(%0, %1) : f32[6,5] %4 = add(%3, %2) : f32[6,5] "
        "%5 = layer_norm(%4) {axis=1} : f32[6,5] "
        "%6 = slice(%5) {starts=[2,0], steps=[1,1]} : f32[1,5] return %6",
        "%0 = input() : f32[6,4] %1 = weight() : f32[4,5] %2 = weight() : f32[5] "
        "%3 = slice(%0) {starts=[2,0], steps=[1,1]} : f32[1,4] "
        "%4 = matmul(%3, %1) : f32[1,5] %5 = add(%4, %2) : f32[1,5] "
        "%6 = layer_norm(%5) {axis=1} : f32[1,5] return %6");
}

// The residual is read whole by one norm, and in part by what follows.
TEST(Narrow, TheLastLayerOfASequenceOfWhichOneRowIsRead) {
  Check(Narrow,
        "%0 = input() : f32[5,8] %1 = weight() : f32[8,8] "
        "%2 = reshape(%0) : f32[1,5,2,4] %3 = transpose(%2) {perm=[0,2,1,3]} : f32[1,2,5,4] "
        "%4 = attention(%3, %3, %3) {scale=0.5} : f32[1,2,5,4] "
        "%5 = transpose(%4) {perm=[0,2,1,3]} : f32[1,5,2,4] %6 = reshape(%5) : f32[5,8] "
        "%7 = matmul(%6, %1) : f32[5,8] %8 = add(%7, %0) : f32[5,8] "
        "%9 = reshape(%8) : f32[1,5,8] "
        "%10 = slice(%9) {starts=[0,0,0], steps=[1,1,1]} : f32[1,1,8] return %10",
        "%0 = input() : f32[5,8] %1 = weight() : f32[8,8] "
        "%2 = reshape(%0) : f32[1,5,2,4] %3 = transpose(%2) {perm=[0,2,1,3]} : f32[1,2,5,4] "
        "%4 = slice(%3) {starts=[0,0,0,0], steps=[1,1,1,1]} : f32[1,2,1,4] "
        "%5 = attention(%4, %3, %3) {scale=0.5} : f32[1,2,1,4] "
        "%6 = transpose(%5) {perm=[0,2,1,3]} : f32[1,1,2,4] %7 = reshape(%6) : f32[1,8] "
        "%8 = matmul(%7, %1) : f32[1,8] "
        "%9 = slice(%0) {starts=[0,0], steps=[1,1]} : f32[1,8] "
        "%10 = add(%8, %9) : f32[1,8] %11 = reshape(%10) : f32[1,1,8] return %11");
}

TEST(Narrow, ReadersOfDifferentPartsShareTheirHull) {
  Check(Narrow,
        "%0 = input() : f32[9,4] %1 = exp(%0) : f32[9,4] "
        "%2 = slice(%1) {starts=[1,0], steps=[1,1]} : f32[2,4] "
        "%3 = slice(%1) {starts=[7,3], steps=[-2,-1]} : f32[2,4] return %2, %3",
        "%0 = input() : f32[9,4] "
        "%1 = slice(%0) {starts=[1,0], steps=[1,1]} : f32[7,4] %2 = exp(%1) : f32[7,4] "
        "%3 = slice(%2) {starts=[0,0], steps=[1,1]} : f32[2,4] "
        "%4 = slice(%2) {starts=[6,3], steps=[-2,-1]} : f32[2,4] return %3, %4");
}

TEST(Narrow, BroadcastOperandsKeepTheirOnes) {
  Check(Narrow,
        "%0 = input() : f32[4,6] %1 = input() : f32[6] %2 = input() : f32[4,1] "
        "%3 = add(%0, %1) : f32[4,6] %4 = mul(%3, %2) : f32[4,6] "
        "%5 = slice(%4) {starts=[1,2], steps=[1,1]} : f32[2,3] return %5",
        "%0 = input() : f32[4,6] %1 = input() : f32[6] %2 = input() : f32[4,1] "
        "%3 = slice(%0) {starts=[1,2], steps=[1,1]} : f32[2,3] "
        "%4 = slice(%1) {starts=[2], steps=[1]} : f32[3] %5 = add(%3, %4) : f32[2,3] "
        "%6 = slice(%2) {starts=[1,0], steps=[1,1]} : f32[2,1] "
        "%7 = mul(%5, %6) : f32[2,3] return %7");
}

TEST(Narrow, ImagesOfABatch) {
  Check(Narrow,
        "%0 = input() : f32[4,2,6,6] %1 = weight() : f32[3,2,3,3] "
        "%2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[0,0,0,0], strides=[1,1]} : "
        "f32[4,3,4,4] "
        "%3 = slice(%2) {starts=[1,0,0,0], steps=[1,1,1,1]} : f32[1,3,4,4] return %3",
        "%0 = input() : f32[4,2,6,6] %1 = weight() : f32[3,2,3,3] "
        "%2 = slice(%0) {starts=[1,0,0,0], steps=[1,1,1,1]} : f32[1,2,6,6] "
        "%3 = conv(%2, %1) {dilations=[1,1], group=1, pads=[0,0,0,0], strides=[1,1]} : "
        "f32[1,3,4,4] return %3");
}

// Columns of a product are not cut, so its epilogue stays with it.
TEST(Narrow, NoSliceBetweenAProductAndItsEpilogue) {
  const char* body =
      "%0 = input() : f32[6,4] %1 = weight() : f32[4,8] %2 = matmul(%0, %1) : f32[6,8] "
      "%3 = abs(%2) : f32[6,8] %4 = slice(%3) {starts=[0,2], steps=[1,1]} : f32[6,3] return %4";
  Check(Narrow, body, body);
}

TEST(Narrow, WhatMixesElementsStaysWhole) {
  for (const char* body : {"%0 = input() : f32[3,4] %1 = reshape(%0) : f32[2,6] "
                           "%2 = slice(%1) {starts=[1,0], steps=[1,1]} : f32[1,6] return %2",
                           "%0 = input() : f32[3,4] %1 = softmax(%0) {axis=1} : f32[3,4] "
                           "%2 = slice(%1) {starts=[0,1], steps=[1,1]} : f32[3,2] return %2",
                           "%0 = input() : f32[3,4] %1 = exp(%0) : f32[3,4] "
                           "%2 = slice(%1) {starts=[0,1], steps=[1,1]} : f32[3,2] return %1, %2"}) {
    Check(Narrow, body, body);
  }
}

// A model may be one long chain: neither the stack nor the time grows with its square.
TEST(Narrow, ChainsOfAnyLengthEnd) {
  Graph graph;
  ValueId value = graph.Input({DType::kF32, {4}, {}});
  for (int i = 0; i < 100'000; ++i) value = graph.Pointwise(ScalarOp::kNeg, {value});
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {value};
  slice.attrs["starts"] = std::vector<int64_t>{1};
  slice.attrs["steps"] = std::vector<int64_t>{1};
  slice.type = {DType::kF32, {2}, {}};
  graph.outputs() = {graph.Add(std::move(slice))};
  ASSERT_TRUE(Narrow(graph).ok());
  EXPECT_EQ(graph[graph.outputs()[0]].type.dims, std::vector<int64_t>{2});
}

TEST(Narrow, DeadValuesAskForNothing) {
  Check(Narrow,
        "%0 = input() : f32[4] %1 = exp(%0) : f32[4] %2 = abs(%1) : f32[4] "
        "%3 = slice(%1) {starts=[1], steps=[1]} : f32[2] return %3",
        "%0 = input() : f32[4] %1 = slice(%0) {starts=[1], steps=[1]} : f32[2] "
        "%2 = exp(%1) : f32[2] return %2");
}

}  // namespace
}  // namespace mlc::graph
