// One row per shape rule: a node that fits, or the reason it does not.
#include <gtest/gtest.h>

#include "compiler/graph/graph.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/shape.h"

namespace mlc::graph {
namespace {

struct Case {
  const char* body;
  const char* error;  // empty: verifies
};

class VerifyRules : public testing::TestWithParam<Case> {};

TEST_P(VerifyRules, Hold) {
  const Result<Graph> graph = Graph::Parse("graph v1 { %0 = input() : f32[1,4,6,6] " +
                                           std::string(GetParam().body) + " return %0 }");
  if (*GetParam().error == '\0') {
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return;
  }
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find(GetParam().error), std::string::npos)
      << graph.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, VerifyRules,
    testing::Values(
        Case{"%1 = transpose(%0) {perm=[0,2,3,1]} : f32[1,6,6,4]", ""},
        Case{"%1 = transpose(%0) {perm=[0,2,2,1]} : f32[1,6,6,4]", "repeats"},
        Case{"%1 = transpose(%0) {perm=[0,2,3,1]} : f32[1,4,6,6]", "declared as"},
        Case{"%1 = reshape(%0) : f32[4,36]", ""},
        Case{"%1 = reshape(%0) : f32[4,35]", "cannot reshape"},
        Case{"%1 = reduce(%0) {axes=[2,3], kind=mean} : f32[1,4,1,1]", ""},
        Case{"%1 = reduce(%0) {axes=[3,2], kind=mean} : f32[1,4,1,1]", "ascending"},
        Case{"%1 = reduce(%0) {axes=[2], kind=median} : f32[1,4,1,6]", "one of"},
        Case{"%1 = softmax(%0) {axis=4} : f32[1,4,6,6]", "axis 4"},
        Case{"%1 = softmax(%0) : f32[1,4,6,6]", "'axis' is missing"},
        Case{"%1 = pool(%0) {kernel=[2,2], kind=max, strides=[2,2]} : f32[1,4,3,3]", ""},
        Case{"%1 = pool(%0) {kernel=[7,2], kind=max} : f32[1,4,3,3]", "larger than"},
        Case{"%1 = pool(%0) {kernel=[0,2], kind=max} : f32[1,4,3,3]", "out of range"},
        Case{"%1 = slice(%0) {starts=[0,1,5,0], steps=[1,1,-1,2]} : f32[1,2,6,3]", ""},
        Case{"%1 = slice(%0) {starts=[0,1,0,0]} : f32[1,4,6,6]", "leaves dimension 1"},
        Case{"%1 = concat(%0, %0) {axis=1} : f32[1,8,6,6]", ""},
        Case{"%1 = concat() {axis=1} : f32[1,8,6,6]", "operands"},
        Case{"%1 = expand(%0) : f32[3,4,6,6]", ""},
        Case{"%1 = expand(%0) : f32[1,1,6,6]", "cannot expand"},
        Case{"%1 = tile(%0) {repeats=[1,1,2,1]} : f32[1,4,12,6]", ""},
        Case{"%1 = layer_norm(%0, _, _) {axis=3} : f32[1,4,6,6]", ""},
        Case{"%1 = layer_norm(%0, %0) {axis=3} : f32[1,4,6,6]", "does not fit"},
        Case{"%1 = attention(%0, %0, %0) {scale=0.5} : f32[1,4,6,6]", ""},
        Case{"%1 = attention(%0, %0) {scale=0.5} : f32[1,4,6,6]", "operands"},
        Case{"%1 = matmul(%0, %0) : f32[1,4,6,6]", ""},
        Case{"%1 = matmul(_, %0) : f32[1,4,6,6]", "absent"},
        Case{"%1 = view(%0) {offset=4} : f32[140]{1}", ""},
        Case{"%1 = view(%0) {offset=5} : f32[140]{1}", "storage"},
        Case{"%1 = copy(%0) : f32[1,4,6,6]{144,1,24,4}", ""},
        Case{"%1 = not(%0) : bool[1,4,6,6]", "not takes bool"},
        Case{"%1 = and(%0, %0) : f32[1,4,6,6]", "logic operators take bool or integers"},
        Case{"%1 = gather(%0, %0) : f32[1]", "indices are"},
        Case{"%1 = nonzero(%0) : i64[144]", "takes a vector of bool"},
        Case{"%1 = constant() {value=1} : bool[4] %2 = nonzero(%1) : i64[4]", ""},
        Case{"%1 = constant() {value=1} : bool[4] %2 = nonzero(%1) : i64[3]", "room for all"},
        Case{"%1 = suppress(%0, %0, %0, %0, %0) : i64[1,4,6]", "boxes are [batch, boxes, 4]"},
        Case{"%1 = suppress(%0, %0) : i64[1,4,6]", "operands"},
        Case{"%1 = resize(%0) {mode=linear, scales=[1.0,1.0,2.0,2.0]} : f32[1,4,12,12]", ""},
        Case{"%1 = resize(%0) {mode=linear, scales=[1.0,1.0,-2.0,2.0]} : f32[1,4,12,12]",
             "scales are out of range"}));

TEST(OpTable, NamesAreUnique) {
  for (int i = 0; i < OpCount(); ++i) {
    const auto op = static_cast<Op>(i);
    if (op == Op::kPointwise) continue;
    EXPECT_EQ(FindOp(ToText(op)), op);
    EXPECT_FALSE(ParseScalarOp(ToText(op)).ok());
  }
}

TEST(AddInferred, InfersOrNamesTheOperator) {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {2, 3}, {}});
  Value node;
  node.op = Op::kTranspose;
  node.operands = {x};
  node.attrs["perm"] = std::vector<int64_t>{1, 0};
  const Result<ValueId> id = AddInferred(graph, node);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(graph[*id].type.dims, (std::vector<int64_t>{3, 2}));
  node.attrs["perm"] = std::vector<int64_t>{1};
  const Result<ValueId> bad = AddInferred(graph, node);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "transpose: perm has one entry per dimension");
}

}  // namespace
}  // namespace mlc::graph
