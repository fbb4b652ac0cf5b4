// Sequences, which are lists of values during the import.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using wire::FloatValue;
using wire::IntAttr;
using wire::Node;

std::string Int(const std::string& name, int64_t value) {
  return wire::Tensor(name, 7, {}, wire::Raw(std::vector<int64_t>{value}));
}

// Of x = 0 .. 5 and constants to y; p is an input.
wire::GraphParts Parts(std::vector<std::string> nodes) {
  wire::GraphParts parts;
  parts.nodes = std::move(nodes);
  parts.initializers = {Int("zero", 0),  Int("one", 1), Int("two", 2),
                        Int("last", -1), Int("far", 3), wire::IntTensor("sizes", {1, 3, 2})};
  parts.inputs = {FloatValue("x", {6}), wire::ValueInfo("p", 7, "")};
  parts.outputs = {FloatValue("y", {})};
  return parts;
}

std::vector<double> Evaluated(std::vector<std::string> nodes, double position = 0) {
  return EvaluateFirst(ImportBytes(wire::Model(Parts(std::move(nodes)), 17)),
                       {Floats({6}, {0, 1, 2, 3, 4, 5}),
                        WriteDoubles(DType::kI64, {}, std::vector<double>{position})});
}

Status Refused(std::vector<std::string> nodes) {
  return ImportBytes(wire::Model(Parts(std::move(nodes)), 17)).status();
}

std::string Split(const std::string& sizes, const std::string& attributes = {}) {
  return Node("SplitToSequence",
              sizes.empty() ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", sizes},
              {"s"}, attributes);
}
std::string Join(const std::string& s, int64_t is_new = 0) {
  return Node("ConcatFromSequence", {s}, {"y"}, IntAttr("axis", 0) + IntAttr("new_axis", is_new));
}

TEST(Sequence, PartsAreTakenByTheirPlace) {
  const auto part = [](const std::string& sizes, const std::string& place) {
    return Evaluated({Split(sizes), Node("SequenceAt", {"s", place}, {"y"})});
  };
  EXPECT_THAT(part("sizes", "one"), ElementsAre(1, 2, 3));
  EXPECT_THAT(part("sizes", "last"), ElementsAre(4, 5));
  EXPECT_THAT(part("two", "one"), ElementsAre(2, 3));
  EXPECT_THAT(part("", "two"), ElementsAre(2));
  EXPECT_THAT(Evaluated({Split("", IntAttr("keepdims", 0)), Join("s", 1)}),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Sequence, APlaceMayBeComputed) {
  for (const double place : {0, 1, 2}) {
    EXPECT_THAT(Evaluated({Split("two"), Node("SequenceAt", {"s", "p"}, {"y"})}, place),
                ElementsAre(2 * place, 2 * place + 1));
  }
  EXPECT_THAT(Refused({Split("sizes"), Node("SequenceAt", {"s", "p"}, {"y"})}).message(),
              HasSubstr("in tensors of different shapes"));
}

TEST(Sequence, TensorsAreInsertedAndErased) {
  const auto joined = [](const std::vector<std::string>& nodes) {
    std::vector<std::string> all = {Split("two"), Node("SequenceAt", {"s", "zero"}, {"a"})};
    all.insert(all.end(), nodes.begin(), nodes.end());
    all.push_back(Join("t"));
    return Evaluated(all);
  };
  EXPECT_THAT(joined({Node("SequenceInsert", {"s", "a"}, {"t"})}),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1));
  EXPECT_THAT(joined({Node("SequenceInsert", {"s", "a", "far"}, {"t"})}),
              ElementsAre(0, 1, 2, 3, 4, 5, 0, 1));
  EXPECT_THAT(joined({Node("SequenceInsert", {"s", "a", "last"}, {"t"})}),
              ElementsAre(0, 1, 2, 3, 0, 1, 4, 5));
  EXPECT_THAT(joined({Node("SequenceErase", {"s", "one"}, {"t"})}), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(joined({Node("SequenceErase", {"s"}, {"t"})}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(
      joined({Node("SequenceConstruct", {"a", "x", "a"}, {"u"}), Node("Identity", {"u"}, {"t"})}),
      ElementsAre(0, 1, 0, 1, 2, 3, 4, 5, 0, 1));
  EXPECT_THAT(joined({Node("SequenceEmpty", {}, {"u"}), Node("SequenceInsert", {"u", "a"}, {"t"})}),
              ElementsAre(0, 1));
}

TEST(Sequence, ItsLengthIsAConstant) {
  EXPECT_THAT(Evaluated({Split("sizes"), Node("SequenceLength", {"s"}, {"n"}),
                         Node("Range", {"zero", "n", "one"}, {"y"})}),
              ElementsAre(0, 1, 2));
}

// As exporters write a list that a loop fills.
TEST(Sequence, LoopsFillThem) {
  wire::GraphParts body;
  body.nodes = {Node("Gather", {"x", "i"}, {"e"}), Node("SequenceInsert", {"s", "e"}, {"t"}),
                Node("Identity", {"c"}, {"on"})};
  body.inputs = {wire::ValueInfo("i", 7, ""), wire::ValueInfo("c", 9, ""), FloatValue("s", {})};
  body.outputs = {wire::ValueInfo("on", 9, ""), FloatValue("t", {})};
  EXPECT_THAT(
      Evaluated({Node("SequenceEmpty", {}, {"u"}),
                 Node("Loop", {"far", "", "u"}, {"v"}, wire::GraphAttr("body", body.Write())),
                 Join("v", 1)}),
      ElementsAre(0, 1, 2));
}

// A body of e and x to f = e + x, or of e alone to f = -e.
std::string Body(bool adds) {
  wire::GraphParts body;
  body.nodes = {adds ? Node("Add", {"e", "w"}, {"f"}) : Node("Neg", {"e"}, {"f"})};
  body.inputs = {FloatValue("e", {})};
  if (adds) body.inputs.push_back(FloatValue("w", {}));
  body.outputs = {FloatValue("f", {})};
  return wire::GraphAttr("body", body.Write());
}

TEST(Sequence, ABodyMapsItsTensors) {
  EXPECT_THAT(
      Evaluated({Split("sizes"), Node("SequenceMap", {"s"}, {"t"}, Body(false)), Join("t")}),
      ElementsAre(0, -1, -2, -3, -4, -5));
  // A second sequence goes along; a tensor is the same each time.
  EXPECT_THAT(
      Evaluated({Split("two"), Node("SequenceMap", {"s", "s"}, {"t"}, Body(true)), Join("t")}),
      ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(Evaluated({Split("two"), Node("SequenceAt", {"s", "last"}, {"a"}),
                         Node("SequenceMap", {"s", "a"}, {"t"}, Body(true)), Join("t")}),
              ElementsAre(4, 6, 6, 8, 8, 10));
  EXPECT_THAT(
      Evaluated({Node("SequenceEmpty", {}, {"s"}), Node("SequenceMap", {"s"}, {"t"}, Body(false)),
                 Node("SequenceInsert", {"t", "x"}, {"u"}), Join("u")}),
      ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Refused({Split("two"), Node("SequenceErase", {"s"}, {"r"}),
                       Node("SequenceMap", {"s", "r"}, {"t"}, Body(true)), Join("t")})
                  .message(),
              HasSubstr("the sequences have 3 and 2 tensors"));
  EXPECT_THAT(Refused({Node("SequenceMap", {"x"}, {"t"}, Body(false)), Join("t")}).message(),
              HasSubstr("a sequence as its first operand"));
}

// y = the value, or x where there is none.
std::vector<double> HeldOrX(const std::string& of, const std::vector<std::string>& operands) {
  wire::GraphParts yes, no;
  yes.nodes = {Node("OptionalGetElement", {"o"}, {"a"})};
  yes.outputs = {FloatValue("a", {})};
  no.nodes = {Node("Identity", {"x"}, {"b"})};
  no.outputs = {FloatValue("b", {})};
  return Evaluated({Node("Neg", {"x"}, {"n"}), Node(of, operands, {"o"}),
                    Node("OptionalHasElement", {"o"}, {"h"}),
                    Node("If", {"h"}, {"y"},
                         wire::GraphAttr("then_branch", yes.Write()) +
                             wire::GraphAttr("else_branch", no.Write()))});
}

TEST(Sequence, OptionalValuesHoldATensorASequenceOrNothing) {
  EXPECT_THAT(HeldOrX("Optional", {"n"}), ElementsAre(0, -1, -2, -3, -4, -5));
  EXPECT_THAT(HeldOrX("Optional", {}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(HeldOrX("Identity", {"n"}), ElementsAre(0, -1, -2, -3, -4, -5));
  EXPECT_THAT(Evaluated({Split("two"), Node("Optional", {"s"}, {"o"}),
                         Node("OptionalGetElement", {"o"}, {"t"}), Join("t")}),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(
      Refused({Node("Optional", {}, {"o"}), Node("OptionalGetElement", {"o"}, {"y"})}).message(),
      HasSubstr("the optional value holds nothing"));
  EXPECT_THAT(Refused({Node("Optional", {}, {"o"}), Node("Relu", {"o"}, {"y"})}).message(),
              HasSubstr("which holds nothing: ask with OptionalHasElement first"));
  EXPECT_THAT(Refused({Node("Optional", {}, {"o"}), Join("o")}).message(),
              HasSubstr("an optional value that holds nothing"));
}

TEST(Sequence, WhatIsWrongIsExplained) {
  const auto expect = [](std::vector<std::string> nodes, const std::string& words) {
    EXPECT_THAT(Refused(std::move(nodes)).message(), HasSubstr(words));
  };
  expect({Split("two"), Node("Relu", {"s"}, {"y"})},
         "reads the sequence 's', and the operator takes tensors");
  expect({Split("two"), Node("Identity", {"s"}, {"y"})}, "output 'y' is a sequence");
  expect({Split("two"), Node("SequenceAt", {"s", "far"}, {"y"})},
         "position 3 is outside of a sequence of 3 tensors");
  expect({Split("zero"), Join("s")}, "parts must have an element or more");
  expect({Node("SequenceLength", {"x"}, {"y"})}, "operand 0 is not a sequence");
  expect({Split("two"), Node("SequenceInsert", {"s", "s"}, {"t"}), Join("t")},
         "operand 1 is a sequence, where a tensor is needed");
  expect({Split("two"), Node("SequenceInsert", {"s", "one"}, {"t"}), Join("t")},
         "another type than those of the sequence");
  expect({Node("SequenceEmpty", {}, {"s"}), Join("s")}, "joining an empty sequence");
  expect({Node("SequenceConstruct", {"x", "one"}, {"s"}), Join("s")}, "differ in type");
  expect({Split("two"), Node("SequenceErase", {"s", "p"}, {"t"}), Join("t")},
         "depends on the model's inputs");
}

// Each insertion copies the list: the sum of all lengths is bounded.
TEST(Sequence, LongOnesEndInAnError) {
  wire::GraphParts body;
  body.nodes = {Node("SequenceInsert", {"s", "x"}, {"t"}), Node("Identity", {"c"}, {"on"})};
  body.inputs = {wire::ValueInfo("i", 7, ""), wire::ValueInfo("c", 9, ""), FloatValue("s", {})};
  body.outputs = {wire::ValueInfo("on", 9, ""), FloatValue("t", {})};
  wire::GraphParts parts = Parts(
      {Node("SequenceEmpty", {}, {"u"}),
       Node("Loop", {"many", "", "u"}, {"v"}, wire::GraphAttr("body", body.Write())), Join("v")});
  parts.initializers.push_back(Int("many", 60000));
  EXPECT_THAT(ImportBytes(wire::Model(parts, 17)).status().message(),
              HasSubstr("the sequences of the model have more than 4194304 tensors"));
}

}  // namespace
}  // namespace mlc::graph::onnx
