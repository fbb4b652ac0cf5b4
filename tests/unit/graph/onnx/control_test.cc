// Loop and Scan, unrolled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::FloatValue;
using wire::Node;
using wire::ValueInfo;

std::string Int(const std::string& name, int64_t value) {
  return wire::Tensor(name, 7, {}, wire::Raw(std::vector<int64_t>{value}));
}

// x doubles in each iteration, as long as it may; each state is kept.
wire::GraphParts Doubling(const std::vector<std::string>& operands, const std::string& condition) {
  wire::GraphParts body;
  body.nodes = {Node("Add", {"s", "s"}, {"t"}), condition, Node("Identity", {"t"}, {"u"})};
  body.initializers = {Int("last", 2)};
  body.inputs = {ValueInfo("i", 7, ""), ValueInfo("c", 9, ""), FloatValue("s", {2})};
  body.outputs = {ValueInfo("on", 9, ""), FloatValue("t", {2}), FloatValue("u", {2})};
  wire::GraphParts parts;
  parts.nodes = {Node("Loop", operands, {"z", "all"}, wire::GraphAttr("body", body.Write())),
                 Node("Flatten", {"all"}, {"y"}, wire::IntAttr("axis", 0))};
  parts.initializers = {Int("n", 3), Int("many", int64_t{1} << 40)};
  parts.inputs = {FloatValue("x", {2})};
  parts.outputs = {FloatValue("y", {})};
  return parts;
}

const std::string kAlways = Node("Identity", {"c"}, {"on"});
const std::string kTwice = Node("Less", {"i", "last"}, {"on"});

TEST(Loop, RunsAsOftenAsItsCountAndConditionSay) {
  const auto run = [](const wire::GraphParts& parts) {
    return EvaluateFirst(ImportBytes(wire::Model(parts, 16)), {Floats({2}, {1, 3})});
  };
  EXPECT_THAT(run(Doubling({"n", "", "x"}, kAlways)), ElementsAre(2, 6, 4, 12, 8, 24));
  EXPECT_THAT(run(Doubling({"", "", "x"}, kTwice)), ElementsAre(2, 6, 4, 12, 8, 24));
}

TEST(Loop, NeedsKnownBounds) {
  const Status endless =
      ImportBytes(wire::Model(Doubling({"many", "", "x"}, kAlways), 16)).status();
  EXPECT_EQ(endless.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(endless.message(), HasSubstr("more than 65536 iterations"));
  wire::GraphParts parts = Doubling({"k", "", "x"}, kAlways);
  parts.inputs.push_back(ValueInfo("k", 7, ""));
  const Status unknown = ImportBytes(wire::Model(parts, 16)).status();
  EXPECT_EQ(unknown.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(unknown.message(),
              HasSubstr("the number of iterations depends on the model's inputs"));
}

// x doubles until its sum is the limit or more, at most `most` times.
wire::GraphParts UntilLimit(const std::string& most, const std::vector<std::string>& results) {
  wire::GraphParts body;
  body.nodes = {Node("Add", {"s", "s"}, {"t"}),
                Node("ReduceSum", {"t"}, {"sum"}, wire::IntAttr("keepdims", 0)),
                Node("Less", {"sum", "limit"}, {"on"}), Node("Identity", {"t"}, {"u"})};
  body.inputs = {ValueInfo("i", 7, ""), ValueInfo("c", 9, ""), FloatValue("s", {2})};
  body.outputs = {ValueInfo("on", 9, ""), FloatValue("t", {2}), FloatValue("u", {2})};
  wire::GraphParts parts;
  parts.nodes = {Node("Loop", {most, "", "x"}, results, wire::GraphAttr("body", body.Write()))};
  parts.initializers = {Int("five", 5), Int("many", int64_t{1} << 40)};
  parts.inputs = {FloatValue("x", {2}), FloatValue("limit", {})};
  parts.outputs = {FloatValue("y", {2})};
  return parts;
}

TEST(Loop, EndsWhereARunDecides) {
  const auto run = [](double limit) {
    return EvaluateFirst(ImportBytes(wire::Model(UntilLimit("five", {"y"}), 16)),
                         {Floats({2}, {1, 3}), Floats({}, {limit})});
  };
  EXPECT_THAT(run(0), ElementsAre(2, 6)) << "the first iteration has no condition";
  EXPECT_THAT(run(9), ElementsAre(4, 12));
  EXPECT_THAT(run(17), ElementsAre(8, 24));
  EXPECT_THAT(run(1e9), ElementsAre(32, 96)) << "at most five";
}

TEST(Loop, ThatEndsByDataNeedsABound) {
  for (const std::string most : {"", "many"}) {
    const Status status = ImportBytes(wire::Model(UntilLimit(most, {"y"}), 16)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(status.message(), HasSubstr("its end depends on data"));
    EXPECT_THAT(status.message(), HasSubstr("give its first operand a constant"));
  }
}

TEST(Loop, ThatEndsByDataKeepsShapes) {
  wire::GraphParts body;
  body.nodes = {Node("Concat", {"s", "s"}, {"t"}, wire::IntAttr("axis", 0)),
                Node("ReduceMax", {"t"}, {"m"}, wire::IntAttr("keepdims", 0)),
                Node("Less", {"m", "m"}, {"on"})};
  body.inputs = {ValueInfo("i", 7, ""), ValueInfo("c", 9, ""), FloatValue("s", {2})};
  body.outputs = {ValueInfo("on", 9, ""), FloatValue("t", {})};
  wire::GraphParts parts;
  parts.nodes = {Node("Loop", {"n", "", "x"}, {"y"}, wire::GraphAttr("body", body.Write()))};
  parts.initializers = {Int("n", 3)};
  parts.inputs = {FloatValue("x", {2})};
  parts.outputs = {FloatValue("y", {})};
  EXPECT_THAT(ImportBytes(wire::Model(parts, 16)).status().message(),
              HasSubstr("an iteration changes the shape of what it carries"));
}

// Sums from the end, written from the start.
TEST(Scan, WalksInTheAskedDirections) {
  wire::GraphParts body;
  body.nodes = {Node("Add", {"s", "e"}, {"t"}), Node("Identity", {"t"}, {"u"})};
  body.inputs = {FloatValue("s", {}), FloatValue("e", {})};
  body.outputs = {FloatValue("t", {}), FloatValue("u", {})};
  wire::GraphParts parts;
  parts.nodes = {Node("Scan", {"zero", "x"}, {"last", "y"},
                      wire::GraphAttr("body", body.Write()) + wire::IntAttr("num_scan_inputs", 1) +
                          wire::IntsAttr("scan_input_directions", {1}) +
                          wire::IntsAttr("scan_output_directions", {1}))};
  parts.initializers = {wire::FloatTensor("zero", {}, {0})};
  parts.inputs = {FloatValue("x", {4})};
  parts.outputs = {FloatValue("y", {})};
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts, 16)), {Floats({4}, {1, 2, 4, 8})}),
              ElementsAre(15, 14, 12, 8));
}

}  // namespace
}  // namespace mlc::graph::onnx
