// Results whose shape depends on data, against the same models with inputs that are known when they
// are imported, where shapes are static.
#include "compiler/front/bounded_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/front/ranged_model.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::front {
namespace {

using graph::TensorDataRef;
using graph::WriteDoubles;
using graph::WriteInts;
using graph::onnx::ImportOptions;
using graph::onnx::TempFolder;
namespace wire = graph::onnx::wire;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::Node;

using Dims = std::vector<int64_t>;
using Named = std::vector<std::pair<std::string, TensorDataRef>>;

constexpr int32_t kFloat = 1, kLong = 7, kBool = 9;

int32_t ElemType(DType dtype) {
  return dtype == DType::kF32 ? kFloat : dtype == DType::kI64 ? kLong : kBool;
}

TensorDataRef Bools(const std::vector<int64_t>& values) {
  return WriteInts(DType::kBool, {static_cast<int64_t>(values.size())}, values);
}

std::string TextOf(const std::vector<TensorDataRef>& outputs) {
  std::string text;
  for (const TensorDataRef& output : outputs) {
    text += graph::TensorType{output->dtype, output->dims, {}}.ToText() + ":";
    for (const double value : graph::ReadDoubles(*output)) text += " " + std::to_string(value);
    text += "\n";
  }
  return text;
}

// A model of nodes, of which some results are outputs.
class SelectionModel {
 public:
  SelectionModel(std::vector<std::string> nodes, const std::vector<std::string>& outputs,
                 std::vector<std::string> initializers = {}) {
    parts_.nodes = std::move(nodes);
    parts_.initializers = std::move(initializers);
    for (const std::string& output : outputs) {
      parts_.outputs.push_back(wire::FloatValue(output, {}));
    }
  }

  Result<Model> Read(const Named& inputs) const {
    return ReadBounded(folder_.Write("model.onnx", BytesFor(inputs)), {});
  }

  // By a graph that computes the counts.
  std::vector<TensorDataRef> Run(const Named& inputs) const {
    const Result<Model> model = Read(inputs);
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    if (!model.ok()) return {};
    EXPECT_GT(model->counted.count, 0);
    std::vector<TensorDataRef> sources;
    for (const auto& [name, data] : inputs) sources.push_back(data);
    Result<std::vector<TensorDataRef>> results = graph::Evaluate(model->graph, sources);
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    if (!results.ok()) return {};
    return graph::CutOutputs(model->counted, *std::move(results));
  }

  // By a graph that is made for these very inputs.
  std::vector<TensorDataRef> RunKnown(const Named& inputs) const {
    ImportOptions import;
    for (const auto& [name, data] : inputs) import.bound_inputs[name] = data;
    const Result<graph::Graph> graph =
        graph::onnx::ImportOnnx(folder_.Write("known.onnx", BytesFor(inputs)), import);
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    if (!graph.ok()) return {};
    const Result<std::vector<TensorDataRef>> results = graph::Evaluate(*graph, {});
    EXPECT_TRUE(results.ok()) << results.status().ToString();
    return results.ok() ? *results : std::vector<TensorDataRef>{};
  }

  void ExpectSame(const Named& inputs) const {
    EXPECT_EQ(TextOf(Run(inputs)), TextOf(RunKnown(inputs)));
  }

 private:
  std::string BytesFor(const Named& inputs) const {
    wire::GraphParts parts = parts_;
    for (const auto& [name, data] : inputs) {
      std::string dims;
      for (const int64_t dim : data->dims) dims += wire::Dim(dim);
      parts.inputs.push_back(wire::ValueInfo(name, ElemType(data->dtype), dims));
    }
    return wire::Model(parts, 18);
  }

  TempFolder folder_;
  wire::GraphParts parts_;
};

TensorDataRef Floats(const Dims& dims, const std::vector<double>& values) {
  return WriteDoubles(DType::kF32, dims, values);
}

TensorDataRef Random(Rng& rng, const Dims& dims, int64_t values) {
  std::vector<double> drawn(
      static_cast<size_t>(graph::TensorType{DType::kF32, dims, {}}.NumElements()));
  for (double& value : drawn) {
    value = static_cast<double>(rng.Below(static_cast<uint64_t>(values))) / 4;
  }
  return Floats(dims, drawn);
}

TEST(BoundedModel, CountsWhatIsNotZero) {
  const SelectionModel model({Node("NonZero", {"x"}, {"y"})}, {"y"});
  for (const std::vector<double>& x : {std::vector<double>{0, 0, 0, 0, 0, 0},
                                       {1, 0, 0, 2, 3, 0},
                                       {0, 0, 0, 0, 0, 5},
                                       {1, 2, 3, 4, 5, 6}}) {
    model.ExpectSame({{"x", Floats({2, 3}, x)}});
    model.ExpectSame({{"x", Floats({6}, x)}});
  }
  model.ExpectSame({{"x", Floats({1}, {0})}});
  model.ExpectSame({{"x", Floats({}, {3})}});
  EXPECT_EQ(model.Run({{"x", Floats({6}, {0, 0, 0, 0, 0, 0})}})[0]->dims, (Dims{1, 0}));
}

// x doubles until its sum is the limit or more: what each iteration computes is kept.
TEST(BoundedModel, LoopsThatEndByDataKeepWhatTheyCompute) {
  wire::GraphParts body;
  body.nodes = {Node("Add", {"s", "s"}, {"t"}),
                Node("ReduceSum", {"t"}, {"sum"}, wire::IntAttr("keepdims", 0)),
                Node("Less", {"sum", "limit"}, {"on"}), Node("Identity", {"t"}, {"u"})};
  body.inputs = {wire::ValueInfo("i", kLong, ""), wire::ValueInfo("c", kBool, ""),
                 wire::FloatValue("s", {2})};
  body.outputs = {wire::ValueInfo("on", kBool, ""), wire::FloatValue("t", {2}),
                  wire::FloatValue("u", {2}), wire::FloatValue("sum", {})};
  const SelectionModel model(
      {Node("Less", {"zero", "limit"}, {"begins"}),
       Node("Loop", {"most", "begins", "x"}, {"z", "all", "sums"},
            wire::GraphAttr("body", body.Write())),
       Node("ReduceMax", {"sums"}, {"greatest"}, wire::IntAttr("keepdims", 0))},
      {"z", "all", "sums", "greatest"},
      {wire::Tensor("most", kLong, {}, wire::Raw<int64_t>({7})),
       wire::FloatTensor("zero", {}, {0})});
  const TensorDataRef x = Floats({2}, {1, 3});
  for (const double limit : {1.0, 9.0, 17.0, 60.0, 1e9}) {
    model.ExpectSame({{"x", x}, {"limit", Floats({}, {limit})}});
  }
  const std::vector<TensorDataRef> none = model.Run({{"x", x}, {"limit", Floats({}, {-1})}});
  EXPECT_EQ(none[1]->dims, (Dims{0, 2}));
  EXPECT_THAT(graph::ReadDoubles(*none[0]), ElementsAre(1, 3));
}

TEST(BoundedModel, CompressesAxesAndWholes) {
  const TensorDataRef x = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const SelectionModel rows({Node("Compress", {"x", "c"}, {"y"}, wire::IntAttr("axis", 0))}, {"y"});
  const SelectionModel columns({Node("Compress", {"x", "c"}, {"y"}, wire::IntAttr("axis", -1))},
                               {"y"});
  const SelectionModel all({Node("Compress", {"x", "c"}, {"y"})}, {"y"});
  for (const std::vector<int64_t>& c : {std::vector<int64_t>{0, 0, 0}, {1, 0, 1}, {1, 1, 1}}) {
    rows.ExpectSame({{"x", x}, {"c", Bools(c)}});
  }
  for (const std::vector<int64_t>& c : {std::vector<int64_t>{0, 0}, {0, 1}, {1, 1}, {1}}) {
    columns.ExpectSame({{"x", x}, {"c", Bools(c)}});
    all.ExpectSame({{"x", x}, {"c", Bools(c)}});
  }
}

TEST(BoundedModel, TakesAsManyAsAnInputSays) {
  const SelectionModel model({Node("TopK", {"x", "k"}, {"v", "i"})}, {"v", "i"});
  const TensorDataRef x = Floats({2, 5}, {3, 1, 4, 1, 5, 9, 2, 6, 5, 3});
  for (const int64_t k : {0, 1, 3, 5}) {
    model.ExpectSame({{"x", x}, {"k", WriteInts(DType::kI64, {1}, std::vector<int64_t>{k})}});
  }
}

TEST(BoundedModel, FindsUniqueElementsAndSlices) {
  Rng rng(5);
  const std::vector<std::string> names = {"y", "first", "inverse", "counts"};
  for (const bool sorted : {true, false}) {
    const std::string order = wire::IntAttr("sorted", sorted ? 1 : 0);
    const SelectionModel flat({Node("Unique", {"x"}, names, order)}, names);
    const SelectionModel slices({Node("Unique", {"x"}, names, order + wire::IntAttr("axis", 1))},
                                names);
    for (const int64_t values : {1, 2, 5, 100}) {
      flat.ExpectSame({{"x", Random(rng, {3, 4}, values)}});
      slices.ExpectSame({{"x", Random(rng, {2, 7}, values)}});
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const SelectionModel model({Node("Unique", {"x"}, names)}, names);
  const auto results = model.Run({{"x", Floats({6}, {nan, 2, nan, 1, 2, 7})}});
  EXPECT_THAT(graph::ReadInts(*results[1]), ElementsAre(3, 1, 5, 0));
  EXPECT_THAT(graph::ReadInts(*results[2]), ElementsAre(3, 1, 3, 0, 1, 2));
  EXPECT_THAT(graph::ReadInts(*results[3]), ElementsAre(1, 2, 1, 2));
}

// Boxes of 10 x 10 at the given places of a line.
TensorDataRef BoxesAt(const std::vector<double>& places) {
  std::vector<double> corners;
  for (const double at : places) corners.insert(corners.end(), {0, at, 10, at + 10});
  return Floats({1, static_cast<int64_t>(places.size()), 4}, corners);
}

TEST(BoundedModel, DropsBoxesThatOverlapBetterOnes) {
  const SelectionModel model(
      {Node("NonMaxSuppression", {"boxes", "scores", "most", "overlap", "least"}, {"y"})}, {"y"});
  const TensorDataRef boxes = BoxesAt({0, 1, 30, 31, 60});
  const auto run = [&](int64_t most, double overlap, double least, bool is_known) {
    const Named inputs = {{"boxes", boxes},
                          {"scores", Floats({1, 2, 5}, {.9, .8, .7, .75, .1, 0, 0, .5, 0, .6})},
                          {"most", WriteInts(DType::kI64, {1}, std::vector<int64_t>{most})},
                          {"overlap", Floats({1}, {overlap})},
                          {"least", Floats({1}, {least})}};
    const auto results = is_known ? model.RunKnown(inputs) : model.Run(inputs);
    return graph::ReadInts(*results[0]);
  };
  for (const bool is_known : {false, true}) {
    EXPECT_THAT(run(5, 0.5, 0.3, is_known), ElementsAre(0, 0, 0, 0, 0, 3, 0, 1, 4, 0, 1, 2));
    EXPECT_THAT(run(1, 0.5, 0.3, is_known), ElementsAre(0, 0, 0, 0, 1, 4));
    EXPECT_THAT(run(0, 0.5, 0.3, is_known), ElementsAre());
    EXPECT_THAT(run(5, 0.5, 0.95, is_known), ElementsAre());
    EXPECT_EQ(run(9, 1, -1, is_known).size(), 30U);  // all
  }
}

// A detector's end: boxes above a score, what is computed of them, and how many there are.
SelectionModel DetectorEnd() {
  return SelectionModel(
      {Node("Greater", {"scores", "threshold"}, {"chosen"}), Node("NonZero", {"chosen"}, {"nz"}),
       Node("Transpose", {"nz"}, {"column"}), Node("Squeeze", {"column", "one"}, {"places"}),
       Node("Gather", {"boxes", "places"}, {"kept"}),
       Node("Gather", {"scores", "places"}, {"best"}), Node("Mul", {"kept", "scale"}, {"scaled"}),
       Node("Unsqueeze", {"best", "one"}, {"rows"}),
       Node("Concat", {"scaled", "rows"}, {"joined"}, wire::IntAttr("axis", 1)),
       Node("Slice", {"joined", "zero", "three", "zero"}, {"few"}),
       Node("Shape", {"joined"}, {"shape"}), Node("Size", {"places"}, {"size"}),
       Node("ReduceSum", {"best"}, {"sum"}), Node("Softmax", {"best"}, {"soft"}),
       Node("Reshape", {"kept", "pairs"}, {"halves"}),
       Node("GatherND", {"scores", "column"}, {"nd"}),
       Node("CumSum", {"best", "zero"}, {"running"})},
      {"joined", "few", "shape", "size", "sum", "soft", "halves", "nd", "running"},
      {wire::FloatTensor("threshold", {}, {1}), wire::IntTensor("one", {1}),
       wire::IntTensor("zero", {0}), wire::IntTensor("three", {3}),
       wire::FloatTensor("scale", {4}, {1, 2, 3, 4}), wire::IntTensor("pairs", {-1, 2})});
}

TEST(BoundedModel, ComputesWithWhatIsSelected) {
  Rng rng(8);
  const SelectionModel model = DetectorEnd();
  for (const int64_t values : {6, 8, 20, 100, 1000}) {
    const TensorDataRef scores = Random(rng, {9}, values);
    model.ExpectSame({{"scores", scores}, {"boxes", Random(rng, {9, 4}, 50)}});
  }
  // All of them.
  model.ExpectSame(
      {{"scores", Floats({9}, {2, 3, 4, 5, 6, 7, 8, 9, 10})}, {"boxes", Random(rng, {9, 4}, 50)}});
}

TEST(BoundedModel, ComputesWithNothing) {
  const SelectionModel model = DetectorEnd();
  const auto results = model.Run({{"scores", Floats({9}, {0, 0, 0, 0, 0, 0, 0, 0, 0})},
                                  {"boxes", Floats({9, 4}, std::vector<double>(36, 1))}});
  ASSERT_EQ(results.size(), 9U);
  EXPECT_EQ(results[0]->dims, (Dims{0, 5}));
  EXPECT_EQ(results[1]->dims, (Dims{0, 5}));
  EXPECT_THAT(graph::ReadInts(*results[2]), ElementsAre(0, 5));
  EXPECT_THAT(graph::ReadInts(*results[3]), ElementsAre(0));
  EXPECT_THAT(graph::ReadDoubles(*results[4]), ElementsAre(0));
  EXPECT_EQ(results[6]->dims, (Dims{0, 2}));
}

TEST(BoundedModel, JoinsSelections) {
  const SelectionModel model(
      {Node("NonZero", {"a"}, {"p"}), Node("NonZero", {"b"}, {"q"}),
       Node("Concat", {"p", "fixed", "q", "p", "fixed"}, {"y"}, wire::IntAttr("axis", 1)),
       Node("ReduceSum", {"y"}, {"sum"})},
      {"y", "sum"}, {wire::Tensor("fixed", 7, {1, 2}, wire::Raw(std::vector<int64_t>{70, 80}))});
  Rng rng(4);
  const TensorDataRef none = Floats({5}, {0, 0, 0, 0, 0}), all = Floats({5}, {1, 2, 3, 4, 5});
  model.ExpectSame({{"a", none}, {"b", all}});
  model.ExpectSame({{"a", all}, {"b", none}});
  model.ExpectSame({{"a", all}, {"b", all}});
  for (int i = 0; i < 5; ++i) {
    model.ExpectSame({{"a", Random(rng, {5}, 2)}, {"b", Random(rng, {7}, 3)}});
  }
}

TEST(BoundedModel, SelectsAmongTheSelected) {
  const SelectionModel model(
      {Node("Greater", {"x", "one"}, {"large"}), Node("Compress", {"x", "large"}, {"few"}),
       Node("Less", {"few", "three"}, {"small"}), Node("Compress", {"few", "small"}, {"fewer"}),
       Node("NonZero", {"small"}, {"nz"})},
      {"few", "fewer", "nz"},
      {wire::FloatTensor("one", {}, {1}), wire::FloatTensor("three", {}, {3})});
  Rng rng(3);
  for (int i = 0; i < 5; ++i) model.ExpectSame({{"x", Random(rng, {12}, 20)}});
}

TEST(BoundedModel, RefusesWhatPaddingChanges) {
  const auto message = [](std::vector<std::string> nodes) {
    const SelectionModel model(std::move(nodes), {"y"}, {wire::IntTensor("two", {2, 2})});
    const Status status = model
                              .Read({{"x", Floats({8}, std::vector<double>(8, 1))},
                                     {"z", Floats({8}, std::vector<double>(8, 1))}})
                              .status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.ToString();
    return std::string(status.message());
  };
  EXPECT_THAT(message({Node("NonZero", {"x"}, {"a"}), Node("NonZero", {"z"}, {"b"}),
                       Node("Add", {"a", "b"}, {"y"})}),
              HasSubstr("number that depends on data"));
  EXPECT_THAT(message({Node("NonZero", {"x"}, {"a"}), Node("Unique", {"a"}, {"y"})}),
              HasSubstr("number that depends on data"));
}

TEST(BoundedModel, GoesWithNoRange) {
  wire::GraphParts parts;
  parts.nodes = {Node("NonZero", {"x"}, {"y"})};
  parts.inputs = {wire::ValueInfo("x", 1, wire::Dim("n"))};
  parts.outputs = {wire::FloatValue("y", {})};
  const TempFolder folder;
  const std::string path = folder.Write("model.onnx", wire::Model(parts, 18));
  const Status status = ReadRangedModel(path, {}, {{"n", {1, 2, 3, 4}, {4}}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("give a list of sizes"));
}

}  // namespace
}  // namespace mlc::front
