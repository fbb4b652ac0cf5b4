// Shapes on the way of models that take ranges of sizes.
#include "compiler/front/ranged_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::front {
namespace {

using namespace graph::onnx::wire;  // NOLINT: the vocabulary of the models below
using graph::onnx::TempFolder;
using ::testing::HasSubstr;

std::string IntScalar(const std::string& name, int64_t value) {
  return Tensor(name, 7, {}, Raw(std::vector<int64_t>{value}));
}

// mask[i, j] with i and j of all rows and columns, as the exporter that traces with TorchScript
// writes it: the rows are joined, and read at i * columns + j.
GraphParts ReadsAllPlaces(int64_t first_column) {
  GraphParts parts;
  parts.initializers = {IntScalar("zero", 0),
                        IntScalar("one", 1),
                        IntScalar("first", first_column),
                        IntTensor("inner", {1, 2, 3}),
                        IntTensor("outer", {0, 1, 2}),
                        IntTensor("flat", {-1})};
  parts.nodes = {Node("Shape", {"mask"}, {"dims"}),
                 Node("Gather", {"dims", "zero"}, {"rows"}),
                 Node("Gather", {"dims", "one"}, {"columns"}),
                 Node("Range", {"zero", "rows", "one"}, {"i"}),
                 Node("Range", {"first", "columns", "one"}, {"j"}),
                 Node("Unsqueeze", {"i", "inner"}, {"i4"}),
                 Node("Unsqueeze", {"j", "outer"}, {"j4"}),
                 Node("Mul", {"i4", "columns"}, {"row"}),
                 Node("Add", {"row", "j4"}, {"place"}),
                 Node("Flatten", {"mask"}, {"joined"}, IntAttr("axis", 2)),
                 Node("Gather", {"joined", "place"}, {"read"}),
                 Node("Reshape", {"read", "flat"}, {"line"}),
                 Node("Shape", {"place"}, {"shape"}),
                 Node("Reshape", {"line", "shape"}, {"y"})};
  parts.inputs = {ValueInfo("mask", 1, Dim("batch") + Dim("length"))};
  parts.outputs = {FloatValue("y", {})};
  return parts;
}

const std::vector<RangedDim> kDims = {{"batch", {1, 2, 3}, {3}}, {"length", {1, 2, 3, 4}, {2, 4}}};

TEST(RangedModel, RowsThatAreJoinedToReadThemAllStayApart) {
  const TempFolder folder;
  const std::string path = folder.Write("mask.onnx", graph::onnx::wire::Model(ReadsAllPlaces(0)));
  const auto ranged = ReadRangedModel(path, {}, kDims);
  ASSERT_TRUE(ranged.ok()) << ranged.status().message();
  const graph::Graph& graph = ranged->models.back().graph;
  std::vector<double> numbers(12);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const auto y = graph::Evaluate(graph, {graph::WriteDoubles(DType::kF32, {3, 4}, numbers)});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0]->dims, (std::vector<int64_t>{3, 1, 1, 4}));
  EXPECT_EQ(graph::ReadDoubles(*(*y)[0]), numbers);
}

// Of one row and column, the same shapes are others.
TEST(RangedModel, AShapeThatChangesNothingAtOneSizeIsThereAtAll) {
  GraphParts parts;
  parts.initializers = {IntTensor("split", {0, 0, 1}), IntTensor("twice", {2, 1})};
  parts.nodes = {Node("Shape", {"x"}, {"dims"}), Node("Expand", {"x", "dims"}, {"wide"}),
                 Node("Reshape", {"wide", "split"}, {"y"}), Node("Shape", {"y"}, {"shape"}),
                 Node("Reshape", {"y", "shape"}, {"z"})};
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim("length"))};
  parts.outputs = {FloatValue("z", {})};
  const TempFolder folder;
  const auto ranged =
      ReadRangedModel(folder.Write("x.onnx", graph::onnx::wire::Model(parts)), {}, kDims);
  EXPECT_TRUE(ranged.ok()) << ranged.status().message();
}

TEST(RangedModel, RowsThatAreJoinedAndReadInPartAreRefused) {
  const TempFolder folder;
  const std::string path = folder.Write("mask.onnx", graph::onnx::wire::Model(ReadsAllPlaces(1)));
  const auto ranged =
      ReadRangedModel(path, {}, {{"batch", {1, 2, 3}, {3}}, {"length", {2, 3, 4}, {4}}});
  ASSERT_FALSE(ranged.ok());
  EXPECT_THAT(ranged.status().message(), HasSubstr("cannot run padded"));
}

}  // namespace
}  // namespace mlc::front
