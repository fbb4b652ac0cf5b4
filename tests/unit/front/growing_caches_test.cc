// Models with caches that grow, over ranges of the cache's length and of the new tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "compiler/front/ranged_model.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::front {
namespace {

using namespace graph::onnx::wire;  // NOLINT: the vocabulary of the models below
using graph::TensorDataRef;
using graph::onnx::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens that see all before them, as a layer of a decoder does: y = softmax(x k^T + mask) k with
// k = present = past and x.
std::string Layer(const std::string& total) {
  GraphParts parts;
  parts.nodes = {Node("Concat", {"past_keys", "x"}, {"present_keys"}, IntAttr("axis", 1)),
                 Node("Transpose", {"present_keys"}, {"turned"}, IntsAttr("perm", {0, 2, 1})),
                 Node("MatMul", {"x", "turned"}, {"scores"}),
                 Node("Add", {"scores", "mask"}, {"masked"}),
                 Node("Softmax", {"masked"}, {"weights"}, IntAttr("axis", -1)),
                 Node("MatMul", {"weights", "present_keys"}, {"y"})};
  parts.inputs = {ValueInfo("past_keys", 1, Dim(2) + Dim("past") + Dim(4)),
                  ValueInfo("x", 1, Dim(2) + Dim("sequence") + Dim(4)),
                  ValueInfo("mask", 1, Dim(1) + Dim(total))};
  parts.outputs = {FloatValue("y", {}), ValueInfo("present_keys", 1, Dim(2) + Dim(total) + Dim(4))};
  return graph::onnx::wire::Model(parts, 17);
}

std::vector<int64_t> UpTo(int64_t first, int64_t last) {
  std::vector<int64_t> sizes(static_cast<size_t>(last - first + 1));
  std::iota(sizes.begin(), sizes.end(), first);
  return sizes;
}

std::vector<RangedDim> DimsOf(int64_t most_past) {
  return {{"past", UpTo(0, most_past), {most_past}}, {"sequence", UpTo(1, 4), {1, 2, 4}}};
}

TensorDataRef Numbers(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i * 37 % 11) / 8 - 0.6);
  return graph::WriteDoubles(DType::kF32, dims, numbers);
}

// The first elements are those of `data`, the others NaN.
TensorDataRef Filled(const graph::TensorData& data, const std::vector<int64_t>& dims) {
  const std::vector<double> from = graph::ReadDoubles(data);
  std::vector<double> to(
      static_cast<size_t>(graph::TensorType{DType::kF32, dims, {}}.NumElements()),
      std::numeric_limits<double>::quiet_NaN());
  const int64_t inner = dims.back(), own = data.dims.back();
  const int64_t rows = dims.size() == 3 ? dims[1] : 1;
  const int64_t own_rows = dims.size() == 3 ? data.dims[1] : 1;
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    const int64_t row = i / own % own_rows, outer = i / own / own_rows;
    to[static_cast<size_t>((outer * rows + row) * inner + i % own)] = from[static_cast<size_t>(i)];
  }
  return graph::WriteDoubles(DType::kF32, dims, to);
}

// What a class computes at sizes that run in it.
void ExpectSame(const std::string& path, const RangedModel& ranged, size_t at, const Sizes& sizes) {
  graph::onnx::ImportOptions import = ranged.import;
  import.dims["past"] = sizes[0];
  import.dims["sequence"] = sizes[1];
  const auto exact = ReadModel(path, import);
  ASSERT_TRUE(exact.ok()) << exact.status().message();
  const graph::Graph& padded = ranged.models[at].graph;
  std::vector<TensorDataRef> given, filled;
  for (const graph::ValueId input : exact->graph.Inputs()) {
    given.push_back(Numbers(exact->graph[input].type.dims));
    const graph::ValueId own = padded.Inputs()[given.size() - 1];
    filled.push_back(Filled(*given.back(), padded[own].type.dims));
  }
  std::vector<int64_t> lengths;
  for (const graph::SizeForm& form : ranged.forms.lengths) lengths.push_back(form.At(sizes));
  filled.push_back(graph::WriteInts(DType::kI32, {static_cast<int64_t>(lengths.size())}, lengths));
  const auto expected = graph::Evaluate(exact->graph, given);
  const auto got = graph::Evaluate(padded, filled);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status().message() << got.status().message();
  for (size_t o = 0; o < expected->size(); ++o) {
    const std::vector<double> want = graph::ReadDoubles(*Filled(*(*expected)[o], (*got)[o]->dims));
    const std::vector<double> have = graph::ReadDoubles(*(*got)[o]);
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i] != want[i]) continue;
      ASSERT_NEAR(have[i], want[i], 1e-5) << "output " << o << " at " << i;
    }
  }
}

TEST(GrowingCaches, EveryLengthRunsInOneCache) {
  const TempFolder folder;
  const std::string path = folder.Write("layer.onnx", Layer("total"));
  const auto ranged = ReadRangedModel(path, {}, DimsOf(9));
  ASSERT_TRUE(ranged.ok()) << ranged.status().message();
  EXPECT_THAT(ranged->import.sums.at("total"), ElementsAre("past", "sequence"));
  ASSERT_TRUE(ranged->growth.has_value());
  EXPECT_EQ(ranged->growth->dim, 0u);
  EXPECT_EQ(ranged->growth->capacity, 13);
  for (const Model& model : ranged->models) {
    EXPECT_THAT(model.graph[model.graph.Inputs()[0]].type.dims, ElementsAre(2, 13, 4));
    EXPECT_THAT(model.graph[model.graph.outputs()[1]].type.dims, ElementsAre(2, 13, 4));
  }
  EXPECT_THAT(ranged->in_largest, ::testing::Each(true));
  for (const int64_t past : {0, 1, 5, 9}) {
    ExpectSame(path, *ranged, 0, {past, 1});
    ExpectSame(path, *ranged, 1, {past, 2});
    ExpectSame(path, *ranged, 2, {past, 3});
    ExpectSame(path, *ranged, 2, {past, 4});
  }
}

TEST(GrowingCaches, ASpeltSumNeedsNoSize) {
  const TempFolder folder;
  const std::string path = folder.Write("layer.onnx", Layer("past + sequence"));
  const auto ranged = ReadRangedModel(path, {}, DimsOf(3));
  ASSERT_TRUE(ranged.ok()) << ranged.status().message();
  EXPECT_TRUE(ranged->import.sums.empty());
  ExpectSame(path, *ranged, 2, {2, 3});
}

// A number of sizes that are not all checked.
TEST(GrowingCaches, LongCachesAreReadAtSomeOfTheirLengths) {
  const std::vector<RangedDim> dims = DimsOf(4000);
  EXPECT_LE(CheckedIn(dims, {4000, 4}).size(), 600u);
  EXPECT_GE(CheckedIn(dims, {4000, 4}).size(), 100u);
  EXPECT_THAT(CheckedIn(dims, {4000, 4}).front(), ElementsAre(0, 3));
  EXPECT_THAT(CheckedIn(dims, {4000, 4}).back(), ElementsAre(4000, 4));
  EXPECT_EQ(CheckedIn(DimsOf(9), {9, 4}).size(), 20u) << "0 to 9, 3 and 4";
}

TEST(GrowingCaches, ASumThatDoesNotHoldIsNotTaken) {
  const TempFolder folder;
  GraphParts parts;
  parts.nodes = {Node("Concat", {"past_keys", "x", "x"}, {"present_keys"}, IntAttr("axis", 1)),
                 Node("Add", {"present_keys", "mask"}, {"y"})};
  parts.inputs = {ValueInfo("past_keys", 1, Dim(2) + Dim("past")),
                  ValueInfo("x", 1, Dim(2) + Dim("sequence")),
                  ValueInfo("mask", 1, Dim(1) + Dim("total"))};
  parts.outputs = {ValueInfo("y", 1, Dim(2) + Dim("total"))};
  const std::string path = folder.Write("other.onnx", graph::onnx::wire::Model(parts, 17));
  const Status status = ReadRangedModel(path, {}, DimsOf(3)).status();
  EXPECT_THAT(status.message(), HasSubstr("give its size with --dim total"));
}

}  // namespace
}  // namespace mlc::front
