#include "compiler/schedule/fusion/fused.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule {
namespace {

graph::Workload Parsed(const std::string& body) {
  auto workload = graph::Workload::Parse("workload v1 tolerance=1e-4 {" + body + "}");
  EXPECT_TRUE(workload.ok()) << workload.status().ToString();
  return *workload;
}

// The kernel that stores one vector of the first output at (p, 16 p) along dimension 1.
std::string Emitted(const graph::Workload& workload) {
  ir::KernelBuilder builder("k");
  Fused fused(workload, builder);
  builder.Parallel("p", 2, [&](const ir::ExprRef& p) {
    fused.StoreOutputs(Point{{p, p * int64_t{16}}, 1, 16, nullptr}, {});
  });
  const ir::Kernel kernel = builder.Finish();
  EXPECT_TRUE(kernel.Verify().ok()) << kernel.Verify().ToString();
  return kernel.ToText();
}

TEST(Fused, BroadcastRowIsAVectorAndBroadcastColumnAScalar) {
  const std::string text =
      Emitted(Parsed("%0 = input() : f32[2,32] %1 = input() : f32[32] %2 = input() : f32[2,1]"
                     "%3 = add(%0, %1) : f32[2,32] %4 = mul(%3, %2) : f32[2,32] return %4"));
  EXPECT_NE(text.find("x_1[mul(p, 16), lanes=16]"), std::string::npos) << text;
  EXPECT_NE(text.find("broadcast(x_2[p], 16)"), std::string::npos) << text;
}

TEST(Fused, TransposeBecomesAStride) {
  const std::string text = Emitted(
      Parsed("%0 = input() : f32[32,2] %1 = transpose(%0) {perm=[1,0]} : f32[2,32] return %1"));
  EXPECT_NE(text.find("lanes=16, stride=2"), std::string::npos) << text;
}

TEST(Fused, SharedIntermediateIsComputedOnce) {
  const std::string text = Emitted(
      Parsed("%0 = input() : f32[2,32] %1 = exp(%0) : f32[2,32] %2 = mul(%1, %1) : f32[2,32]"
             "return %2"));
  EXPECT_EQ(text.find("exp("), text.rfind("exp(")) << text;
}

TEST(Fused, VectorsDoNotStraddleAReshapeSeam) {
  const graph::Workload even = Parsed(
      "%0 = input() : f32[4,32] %1 = neg(%0) : f32[4,32] %2 = reshape(%1) : f32[128] return %2");
  const graph::Workload odd = Parsed(
      "%0 = input() : f32[4,30] %1 = neg(%0) : f32[4,30] %2 = reshape(%1) : f32[120] return %2");
  EXPECT_TRUE(Fused::Vectorises(even, even.outputs()[0], 0, 16));
  EXPECT_FALSE(Fused::Vectorises(odd, odd.outputs()[0], 0, 16));
}

TEST(Fused, GatherVectorisesAlongTheDataOnly) {
  const graph::Workload w = Parsed(
      "%0 = input() : f32[50,32] %1 = input() : i64[8] %2 = gather(%0, %1) {axis=0} : f32[8,32]"
      "return %2");
  EXPECT_TRUE(Fused::Vectorises(w, w.outputs()[0], 1, 16));
  EXPECT_FALSE(Fused::Vectorises(w, w.outputs()[0], 0, 16));
}

TEST(Fused, AnchorsAreReadAtTheirOwnPointOnly) {
  const graph::Workload w = Parsed(
      "%0 = input() : f32[8,8] %1 = input() : f32[8,8] %2 = matmul(%0, %1) : f32[8,8]"
      "%3 = abs(%2) : f32[8,8] %4 = transpose(%3) {perm=[1,0]} : f32[8,8] return %3, %4");
  const graph::ValueId anchors[] = {2};
  EXPECT_TRUE(Fused::Covers(w, w.outputs()[0], anchors));
  EXPECT_FALSE(Fused::Covers(w, w.outputs()[1], anchors));
  EXPECT_FALSE(Fused::Covers(w, w.outputs()[0], {}));
}

TEST(Pieces, ContiguousDimensionsMerge) {
  const auto pieces =
      CutPieces(Parsed("%0 = input() : f32[2,3,4,5] %1 = exp(%0) : f32[2,3,4,5] return %1"));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_TRUE(pieces[0].affine);
  EXPECT_EQ(pieces[0].part.graph()[pieces[0].part.outputs()[0]].type.dims,
            std::vector<int64_t>{120});
}

TEST(Pieces, ConcatIsOnePieceForEachOperand) {
  const auto pieces =
      CutPieces(Parsed("%0 = input() : f32[2,3] %1 = input() : f32[2,4]"
                       "%2 = concat(%0, %1) {axis=1} : f32[2,7] return %2"));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].offsets, std::vector<int64_t>{0});
  EXPECT_EQ(pieces[1].offsets, std::vector<int64_t>{3});
  EXPECT_EQ(pieces[1].operands, std::vector<int>{1});
}

TEST(Pieces, ConstantBordersAreFilledApart) {
  const auto pieces = CutPieces(
      Parsed("%0 = input() : f32[2,3]"
             "%1 = pad(%0) {mode=constant,pads=[0,1,0,2],value=0.0} : f32[2,6] return %1"));
  // The inside, one column before it, two behind.
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].offsets, std::vector<int64_t>{1});
  EXPECT_EQ(pieces[2].offsets, std::vector<int64_t>{4});
}

}  // namespace
}  // namespace mlc::schedule
