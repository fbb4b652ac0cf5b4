// One row per rule.
#include "compiler/graph/passes/simplify.h"

#include <set>

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

struct Row {
  const char* rule;
  const char* before;
  const char* after;  // null: nothing changes
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.rule; }

constexpr Row kRows[] = {
    {"constant_last",
     "%0 = input() : f32[2] %1 = constant() {value=3.0} : f32[] %2 = add(%1, %0) : f32[2] return "
     "%2",
     "%0 = input() : f32[2] %1 = constant() {value=3.0} : f32[] %2 = add(%0, %1) : f32[2] return "
     "%2"},
    {"scalar_operands",
     "%0 = input() : f32[2] %1 = constant() {values=[3.0]} : f32[1] %2 = mul(%0, %1) : f32[2] "
     "return %2",
     "%0 = input() : f32[2] %1 = constant() {value=3.0} : f32[] %2 = mul(%0, %1) : f32[2] return "
     "%2"},
    {"scalar_operands",
     "%0 = input() : f32[] %1 = constant() {values=[3.0]} : f32[1] %2 = max(%0, %1) : f32[1] "
     "return %2",
     nullptr},
    {"identity",
     "%0 = input() : f32[3,2] %1 = constant() {values=[0.0,0.0]} : f32[2] %2 = add(%0, %1) : "
     "f32[3,2] %3 = tanh(%2) : f32[3,2] return %3",
     "%0 = input() : f32[3,2] %1 = tanh(%0) : f32[3,2] return %1"},
    {"scalar_operands",
     "%0 = input() : f32[2] %1 = constant() {values=[3.0,4.0]} : f32[2] %2 = mul(%0, %1) : f32[2] "
     "return %2",
     nullptr},
    {"identity",
     "%0 = input() : f32[2] %1 = constant() {value=1.0} : f32[] %2 = mul(%0, %1) : f32[2] %3 = "
     "neg(%2) : f32[2] return %3",
     "%0 = input() : f32[2] %1 = neg(%0) : f32[2] return %1"},
    {"identity",
     "%0 = input() : i32[2] %1 = constant() {value=0.0} : i32[2] %2 = sub(%0, %1) : i32[2] %3 = "
     "neg(%2) : i32[2] return %3",
     "%0 = input() : i32[2] %1 = neg(%0) : i32[2] return %1"},
    {"identity",
     "%0 = input() : i32[2] %1 = constant() {value=0.0} : i32[3,2] %2 = add(%0, %1) : i32[3,2] "
     "return %2",
     nullptr},
    {"sub_to_add",
     "%0 = input() : f32[2] %1 = constant() {values=[1.0,2.0]} : f32[2] %2 = sub(%0, %1) : f32[2] "
     "return %2",
     "%0 = input() : f32[2] %1 = constant() {values=[-1.0,-2.0]} : f32[2] %2 = add(%0, %1) : "
     "f32[2] return %2"},
    {"div_to_mul",
     "%0 = input() : f32[2] %1 = constant() {value=8.0} : f32[] %2 = div(%0, %1) : f32[2] return "
     "%2",
     "%0 = input() : f32[2] %1 = constant() {value=0.125} : f32[] %2 = mul(%0, %1) : f32[2] return "
     "%2"},
    {"div_to_mul",
     "%0 = input() : f32[2] %1 = constant() {value=1e-30} : f32[] %2 = div(%0, %1) : f32[2] "
     "return %2",
     nullptr},
    {"div_to_mul",
     "%0 = input() : i32[2] %1 = constant() {value=8.0} : i32[] %2 = div(%0, %1) : i32[2] return "
     "%2",
     nullptr},
    {"one_over",
     "%0 = input() : f32[2] %1 = constant() {value=1.0} : f32[] %2 = div(%1, %0) : f32[2] return "
     "%2",
     "%0 = input() : f32[2] %1 = reciprocal(%0) : f32[2] return %1"},
    {"reciprocal_of_sqrt",
     "%0 = input() : f32[2] %1 = sqrt(%0) : f32[2] %2 = reciprocal(%1) : f32[2] return %2",
     "%0 = input() : f32[2] %1 = rsqrt(%0) : f32[2] return %1"},
    {"pow_of_constant",
     "%0 = input() : f32[2] %1 = constant() {value=2.0} : f32[] %2 = pow(%0, %1) : f32[2] return "
     "%2",
     "%0 = input() : f32[2] %1 = mul(%0, %0) : f32[2] return %1"},
    {"pow_of_constant",
     "%0 = input() : f32[2] %1 = constant() {value=3.0} : f32[] %2 = pow(%0, %1) : f32[2] return "
     "%2",
     "%0 = input() : f32[2] %1 = mul(%0, %0) : f32[2] %2 = mul(%1, %0) : f32[2] return %2"},
    {"pow_of_constant",
     "%0 = input() : f32[2] %1 = constant() {value=2.5} : f32[] %2 = pow(%0, %1) : f32[2] return "
     "%2",
     nullptr},
    {"merge_constants",
     "%0 = input() : f32[2] %1 = constant() {value=2.0} : f32[] %2 = constant() {value=4.0} : "
     "f32[] %3 = mul(%0, %1) : f32[2] %4 = mul(%3, %2) : f32[2] return %4",
     "%0 = input() : f32[2] %1 = constant() {value=8.0} : f32[] %2 = mul(%0, %1) : f32[2] return "
     "%2"},
    {"merge_constants",
     "%0 = input() : f32[2] %1 = constant() {value=0.5} : f32[] %2 = constant() {value=0.0} : "
     "f32[] %3 = max(%0, %1) : f32[2] %4 = max(%3, %2) : f32[2] return %4",
     "%0 = input() : f32[2] %1 = constant() {value=0.5} : f32[] %2 = max(%0, %1) : f32[2] return "
     "%2"},
    {"merge_constants",  // a scale and angles
     "%0 = input() : f32[2,3] %1 = constant() {values=[0.5,0.25,2.0]} : f32[3] "
     "%2 = constant() {values=[1,2,3,4,5,6]} : f32[2,3] %3 = mul(%0, %1) : f32[2,3] "
     "%4 = mul(%3, %2) : f32[2,3] return %4",
     nullptr},
    {"double_negation",
     "%0 = input() : f32[2] %1 = neg(%0) : f32[2] %2 = neg(%1) : f32[2] %3 = exp(%2) : f32[2] "
     "return %3",
     "%0 = input() : f32[2] %1 = exp(%0) : f32[2] return %1"},
    {"idempotent", "%0 = input() : f32[2] %1 = abs(%0) : f32[2] %2 = abs(%1) : f32[2] return %2",
     "%0 = input() : f32[2] %1 = abs(%0) : f32[2] return %1"},
    {"logic_identity",
     "%0 = input() : bool[2] %1 = constant() {value=1.0} : bool[2] %2 = and(%0, %1) : bool[2] %3 = "
     "not(%2) : bool[2] return %3",
     "%0 = input() : bool[2] %1 = not(%0) : bool[2] return %1"},
    {"logic_identity",  // of bits, 1 is no identity
     "%0 = input() : i32[2] %1 = constant() {value=1.0} : i32[2] %2 = and(%0, %1) : i32[2] "
     "return %2",
     nullptr},
    {"known_select",
     "%0 = input() : f32[2] %1 = input() : f32[2] %2 = constant() {value=0.0} : bool[] %3 = "
     "select(%2, %0, %1) : f32[2] %4 = neg(%3) : f32[2] return %4",
     "%0 = input() : f32[2] %1 = input() : f32[2] %2 = neg(%1) : f32[2] return %2"},
    {"drop_expand",
     "%0 = input() : f32[1,2] %1 = input() : f32[3,2] %2 = expand(%0) : f32[3,2] %3 = mul(%2, %1) "
     ": f32[3,2] return %3",
     "%0 = input() : f32[1,2] %1 = input() : f32[3,2] %2 = mul(%0, %1) : f32[3,2] return %2"},
    {"no_movement",
     "%0 = input() : f32[2] %1 = reshape(%0) : f32[2] %2 = cast(%1) : f32[2] %3 = slice(%2) "
     "{starts=[0]} : f32[2] %4 = pad(%3) {pads=[0,0]} : f32[2] %5 = neg(%4) : f32[2] return %5",
     "%0 = input() : f32[2] %1 = neg(%0) : f32[2] return %1"},
    {"no_movement",
     "%0 = input() : f32[2] %1 = slice(%0) {starts=[1], steps=[-1]} : f32[2] return %1", nullptr},
    {"no_movement", "%0 = input() : f32[2] %1 = pad(%0) {pads=[1,-1]} : f32[2] return %1", nullptr},
    {"transpose_of_ones",
     "%0 = input() : f32[1,3,4] %1 = transpose(%0) {perm=[1,0,2]} : f32[3,1,4] return %1",
     "%0 = input() : f32[1,3,4] %1 = reshape(%0) : f32[3,1,4] return %1"},
    {"double_transpose",
     "%0 = input() : f32[2,3,4] %1 = transpose(%0) {perm=[1,2,0]} : f32[3,4,2] %2 = transpose(%1) "
     "{perm=[1,0,2]} : f32[4,3,2] return %2",
     "%0 = input() : f32[2,3,4] %1 = transpose(%0) {perm=[2,1,0]} : f32[4,3,2] return %1"},
    {"double_transpose",
     "%0 = input() : f32[2,3] %1 = transpose(%0) {perm=[1,0]} : f32[3,2] %2 = transpose(%1) "
     "{perm=[1,0]} : f32[2,3] %3 = neg(%2) : f32[2,3] return %3",
     "%0 = input() : f32[2,3] %1 = neg(%0) : f32[2,3] return %1"},
    {"double_reshape",
     "%0 = input() : f32[2,3] %1 = reshape(%0) : f32[6] %2 = reshape(%1) : f32[3,2] return %2",
     "%0 = input() : f32[2,3] %1 = reshape(%0) : f32[3,2] return %1"},
    {"transpose_through_ones",
     "%0 = input() : f32[5,4,3] %1 = transpose(%0) {perm=[1,2,0]} : f32[4,3,5] %2 = reshape(%1) : "
     "f32[1,4,3,5] %3 = transpose(%2) {perm=[0,1,3,2]} : f32[1,4,5,3] return %3",
     "%0 = input() : f32[5,4,3] %1 = transpose(%0) {perm=[1,0,2]} : f32[4,5,3] %2 = reshape(%1) : "
     "f32[1,4,5,3] return %2"},
    {"double_slice",
     "%0 = input() : f32[10] %1 = slice(%0) {starts=[1], steps=[2]} : f32[4] %2 = slice(%1) "
     "{starts=[3], steps=[-2]} : f32[2] return %2",
     "%0 = input() : f32[10] %1 = slice(%0) {starts=[7], steps=[-4]} : f32[2] return %1"},
    {"double_expand",
     "%0 = input() : f32[1] %1 = expand(%0) : f32[2] %2 = expand(%1) : f32[3,2] return %2",
     "%0 = input() : f32[1] %1 = expand(%0) : f32[3,2] return %1"},
    {"double_cast",
     "%0 = input() : f32[2] %1 = cast(%0) : f64[2] %2 = cast(%1) : f32[2] %3 = neg(%2) : f32[2] "
     "return %3",
     "%0 = input() : f32[2] %1 = neg(%0) : f32[2] return %1"},
    {"double_cast", "%0 = input() : f32[2] %1 = cast(%0) : f16[2] %2 = cast(%1) : f32[2] return %2",
     nullptr},
    {"concat_of_nothing",
     "%0 = input() : f32[2,3] %1 = input() : f32[0,3] %2 = concat(%0, %1) {axis=0} : f32[2,3] "
     "return %2",
     "%0 = input() : f32[2,3] %1 = input() : f32[0,3] return %0"},
    {"gather_of_run",
     "%0 = input() : f32[3,4] %1 = constant() {values=[-1]} : i64[] %2 = gather(%0, %1) : f32[4] "
     "return %2",
     "%0 = input() : f32[3,4] %1 = slice(%0) {starts=[2,0]} : f32[1,4] %2 = reshape(%1) : f32[4] "
     "return %2"},
    {"gather_of_run",  // what reads all is a reshape
     "%0 = input() : f32[4] %1 = constant() {values=[0,1,2,3]} : i64[2,1,2] "
     "%2 = gather(%0, %1) : f32[2,1,2] return %2",
     "%0 = input() : f32[4] %1 = reshape(%0) : f32[2,1,2] return %1"},
    {"gather_of_run",
     "%0 = input() : f32[7,2] %1 = constant() {values=[1,3,-2]} : i64[3] "
     "%2 = gather(%0, %1) : f32[3,2] return %2",
     "%0 = input() : f32[7,2] %1 = slice(%0) {starts=[1,0], steps=[2,1]} : f32[3,2] return %1"},
    {"gather_of_run",
     "%0 = input() : f32[7] %1 = constant() {values=[2,1]} : i64[2] %2 = gather(%0, %1) : f32[2] "
     "return %2",
     nullptr},
    {"scatter_to_box",
     "%0 = input() : f32[4,5,2] %1 = input() : f32[2,3,2] "
     "%2 = constant() {values=[1,2]} : i64[2,1] %3 = constant() {values=[-3,-2,-1]} : i64[1,3] "
     "%4 = expand(%2) : i64[2,3] %5 = reshape(%4) : i64[2,3,1] %6 = expand(%3) : i64[2,3] "
     "%7 = reshape(%6) : i64[2,3,1] %8 = concat(%5, %7) {axis=2} : i64[2,3,2] "
     "%9 = scatter_nd(%0, %8, %1) : f32[4,5,2] return %9",
     "%0 = input() : f32[4,5,2] %1 = input() : f32[2,3,2] "
     "%2 = slice(%0) {starts=[1,0,0]} : f32[2,2,2] %3 = concat(%2, %1) {axis=1} : f32[2,5,2] "
     "%4 = slice(%0) {starts=[0,0,0]} : f32[1,5,2] %5 = slice(%0) {starts=[3,0,0]} : f32[1,5,2] "
     "%6 = concat(%4, %3, %5) {axis=0} : f32[4,5,2] return %6"},
    {"scatter_to_box",
     "%0 = input() : f32[3,2] %1 = input() : f32[1,2] "
     "%2 = constant() {values=[1,0,1,1]} : i64[1,2,2] "
     "%3 = scatter_nd(%0, %2, %1) : f32[3,2] return %3",
     "%0 = input() : f32[3,2] %1 = input() : f32[1,2] "
     "%2 = slice(%0) {starts=[0,0]} : f32[1,2] %3 = slice(%0) {starts=[2,0]} : f32[1,2] "
     "%4 = concat(%2, %1, %3) {axis=0} : f32[3,2] return %4"},
    {"scatter_to_box",
     "%0 = input() : f32[4,5] %1 = input() : f32[2,2] "
     "%2 = constant() {values=[1,3]} : i64[2,1] %3 = constant() {values=[0,1]} : i64[1,2] "
     "%4 = expand(%2) : i64[2,2] %5 = reshape(%4) : i64[2,2,1] %6 = expand(%3) : i64[2,2] "
     "%7 = reshape(%6) : i64[2,2,1] %8 = concat(%5, %7) {axis=2} : i64[2,2,2] "
     "%9 = scatter_nd(%0, %8, %1) : f32[4,5] return %9",
     nullptr},
};

class SimplifyRules : public testing::TestWithParam<Row> {};

TEST_P(SimplifyRules, Rewrite) {
  const Row& row = GetParam();
  Check(Simplify, row.before, row.after == nullptr ? row.before : row.after);
}

INSTANTIATE_TEST_SUITE_P(All, SimplifyRules, testing::ValuesIn(kRows));

TEST(Simplify, EveryRuleHasARow) {
  std::set<std::string_view> tested;
  for (const Row& row : kRows) tested.insert(row.rule);
  for (const auto rules : {PointwiseRules(), MovementRules(), ScatterRules()}) {
    for (const SimplifyRule& rule : rules) EXPECT_TRUE(tested.contains(rule.name)) << rule.name;
  }
}

}  // namespace
}  // namespace mlc::graph
