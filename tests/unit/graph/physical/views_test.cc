#include "compiler/graph/physical/views.h"

#include <gtest/gtest.h>

namespace mlc::graph {
namespace {

using Dims = std::vector<int64_t>;

Value Reshape(Dims dims) {
  Value node;
  node.op = Op::kReshape;
  node.type.dims = std::move(dims);
  return node;
}

TensorType Strided(Dims dims, Dims strides) {
  return {DType::kF32, std::move(dims), std::move(strides)};
}

TEST(Views, ReshapeSplitsAndMergesDenseDims) {
  const StridedView whole = WholeOf(Strided({1, 128, 768}, {}));
  const auto view = ThroughView(Reshape({1, 128, 12, 64}), whole);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Canonical(view->type).strides, Dims{});
  const auto merged = ThroughView(Reshape({128, 768}), whole);
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(Canonical(merged->type).strides, Dims{});
}

TEST(Views, ReshapeOfASliceKeepsItsRowStride) {
  Value slice;
  slice.op = Op::kSlice;
  slice.attrs["starts"] = Dims{0, 0, 768};
  slice.attrs["steps"] = Dims{1, 1, 1};
  slice.type.dims = {1, 128, 768};
  const auto k = ThroughView(slice, WholeOf(Strided({1, 128, 2304}, {})));
  ASSERT_TRUE(k.has_value());
  EXPECT_EQ(k->offset, 768);
  const auto heads = ThroughView(Reshape({1, 128, 12, 64}), *k);
  ASSERT_TRUE(heads.has_value());
  EXPECT_EQ(heads->type.strides[1], 2304);
  EXPECT_EQ(heads->type.strides[2], 64);
  EXPECT_EQ(heads->type.strides[3], 1);
  EXPECT_EQ(heads->offset, 768);
}

TEST(Views, ReshapeThatMixesOrdersIsNone) {
  EXPECT_FALSE(ThroughView(Reshape({6}), WholeOf(Strided({2, 3}, {1, 2}))).has_value());
  EXPECT_FALSE(
      ThroughView(Reshape({1, 64 * 49}), WholeOf(Strided({1, 64, 7, 7}, {3136, 1, 448, 64})))
          .has_value());
}

TEST(Views, ChannelsLastImageIsAViewOfRows) {
  const auto rows = ThroughView(Reshape({1, 768, 196}),
                                WholeOf(Strided({1, 768, 14, 14}, {150528, 1, 10752, 768})));
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->type.strides[1], 1);
  EXPECT_EQ(rows->type.strides[2], 768);
}

TEST(Views, ExpandHasZeroStrides) {
  Value expand;
  expand.op = Op::kExpand;
  expand.type.dims = {2, 4, 3};
  const auto view = ThroughView(expand, WholeOf(Strided({1, 3}, {})));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->type.strides, (Dims{0, 0, 1}));
}

TEST(Views, SliceThatWalksDownIsNoView) {
  Value slice;
  slice.op = Op::kSlice;
  slice.attrs["starts"] = Dims{3};
  slice.attrs["steps"] = Dims{-1};
  EXPECT_FALSE(IsViewOp(slice));
}

TEST(Views, CanonicalIgnoresStridesOfUnitDims) {
  EXPECT_EQ(Canonical(Strided({1, 64, 1, 1}, {64, 1, 64, 64})).strides, Dims{});
  EXPECT_EQ(Canonical(Strided({1, 8, 4, 4}, {7, 1, 32, 8})).strides, (Dims{128, 1, 32, 8}));
  EXPECT_EQ(Canonical(Strided({1, 4, 8}, {99, 24, 1})).strides, (Dims{96, 24, 1}));
}

}  // namespace
}  // namespace mlc::graph
