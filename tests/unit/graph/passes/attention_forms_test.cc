// Attention in the forms that exporters write it in: each becomes one attention node that computes
// the same, rows without any visible key included, in every precision; what differs in value stays.
#include <gtest/gtest.h>

#include "tests/unit/graph/passes/attention_net.h"

namespace mlc::graph {
namespace {

constexpr int64_t kB = 2, kH = 4, kS = 5, kT = 7, kD = 8, kE = 6;
const Dims kTurned = {0, 1, 3, 2};

ValueId Q(Net& n) { return n.Input({kB, kH, kS, kD}); }
ValueId K(Net& n) { return n.Transpose(n.Input({kB, kH, kT, kD}), kTurned); }
ValueId V(Net& n) { return n.Input({kB, kH, kT, kE}); }
ValueId Scores(Net& n) { return n.MatMul(Q(n), K(n)); }
ValueId Attended(Net& n, ValueId scores) { return n.MatMul(n.Softmax(scores), V(n)); }
ValueId AttendedSafely(Net& n, ValueId scores) {
  return n.MatMul(n.NanToZero(n.Softmax(scores)), V(n));
}
ValueId Hidden(Net& n, int64_t row) {
  return n.Where(n.BoolInput({kB, 1, kS, kT}, row), n.Number(0), n.Number(-kInf));
}

constexpr Form kScales[] = {
    {"after", [](Net& n) { return Attended(n, n.Times(Scores(n), 0.25)); }, nullptr},
    {"divisor", [](Net& n) { return Attended(n, n.Div(Scores(n), n.Number(4))); }, nullptr},
    {"before", [](Net& n) { return Attended(n, n.MatMul(n.Times(Q(n), 0.25), K(n))); }, nullptr},
    {"split over queries and keys",
     [](Net& n) { return Attended(n, n.MatMul(n.Times(Q(n), 0.5), n.Times(K(n), 0.5))); }, nullptr},
    {"on keys below their transpose",
     [](Net& n) {
       const ValueId k = n.Times(n.Input({kB, kT, kH, kD}), 0.5);
       return Attended(n, n.MatMul(Q(n), n.Transpose(k, {0, 2, 3, 1})));
     },
     nullptr},
    {"around a mask",
     [](Net& n) {
       return Attended(n, n.Times(n.Add(n.Times(Scores(n), 0.5), n.Input({kS, kT})), 0.5));
     },
     nullptr},
    {"of each head",
     [](Net& n) {
       return Attended(n, n.Add(n.Mul(Scores(n), n.Input({kH, 1, 1})), n.Input({kS, kT})));
     },
     nullptr},
    {"negative", [](Net& n) { return Attended(n, n.Times(Scores(n), -0.5)); },
     "its scale is not positive"},
    {"of each key", [](Net& n) { return Attended(n, n.Mul(Scores(n), n.Input({kT}))); },
     "its scores are multiplied by a tensor that differs from key to key"},
};

constexpr Form kMasks[] = {
    {"added",
     [](Net& n) {
       return Attended(n, n.Add(Scores(n), n.Input({kB, 1, kS, kT})));
     },
     nullptr},
    {"added from the left",
     [](Net& n) {
       return Attended(n, n.Add(n.Input({kB, 1, 1, kT}), Scores(n)));
     },
     nullptr},
    {"subtracted",
     [](Net& n) {
       return Attended(n, n.Sub(Scores(n), n.Input({kB, 1, 1, kT})));
     },
     nullptr},
    {"two of them",
     [](Net& n) {
       const ValueId biased = n.Add(Scores(n), n.Input({1, kH, kS, kT}));
       return Attended(n, n.Add(biased, n.Input({kB, 1, 1, kT})));
     },
     nullptr},
    {"infinities without a check",
     [](Net& n) { return Attended(n, n.Add(Scores(n), Hidden(n, 2))); }, nullptr, false},
    {"infinities, rows of NaN are zero",
     [](Net& n) { return AttendedSafely(n, n.Add(Scores(n), Hidden(n, 2))); }, nullptr},
    {"known infinities, rows of NaN are zero",
     [](Net& n) {
       const ValueId mask = n.Where(n.BoolConstant({kS, kT}, 1), n.Number(0), n.Number(-kInf));
       return AttendedSafely(n, n.Add(n.Times(Scores(n), 0.3), mask));
     },
     nullptr},
    {"the check the other way round",
     [](Net& n) {
       const ValueId x = n.Softmax(n.Add(Scores(n), Hidden(n, 2)));
       const ValueId valid = n.Not(AddPointwise(n.graph, ScalarOp::kIsNan, {x}));
       return n.MatMul(n.Where(valid, x, n.Number(0)), V(n));
     },
     nullptr},
    {"a check without a mask", [](Net& n) { return AttendedSafely(n, Scores(n)); }, nullptr},
    {"the lowest number",
     [](Net& n) {
       const ValueId mask =
           n.Where(n.BoolInput({kB, 1, kS, kT}, 3), n.Number(0), n.Number(kLowest));
       return Attended(n, n.Add(Scores(n), mask));
     },
     nullptr, false},
    {"selected by a causal constant",
     [](Net& n) { return Attended(n, n.Where(n.Causal(kS, kT), Scores(n), n.Number(-kInf))); },
     nullptr},
    {"selected, and rows of NaN are zero",
     [](Net& n) {
       return AttendedSafely(n,
                             n.Where(n.BoolInput({kB, 1, kS, kT}, 0), Scores(n), n.Number(-kInf)));
     },
     nullptr},
    {"selected where not",
     [](Net& n) {
       return Attended(n, n.Where(n.Not(n.Causal(kS, kT)), n.Number(-kInf), Scores(n)));
     },
     nullptr},
    {"selected where an input says so",
     [](Net& n) {
       return Attended(n, n.Where(n.BoolInput({kB, 1, kS, kT}, -1), n.Number(-kInf), Scores(n)));
     },
     nullptr, false},
    {"causal and padding",
     [](Net& n) {
       const ValueId shown = n.And(n.Causal(kS, kT), n.BoolInput({kB, 1, 1, kT}, -1));
       return Attended(n, n.Where(shown, n.Times(Scores(n), 0.5), n.Number(kLowest)));
     },
     nullptr},
    {"selected, then added",
     [](Net& n) {
       const ValueId shown = n.Where(n.Causal(kS, kT), Scores(n), n.Number(kLowest));
       return Attended(n, n.Add(shown, n.Input({kB, 1, 1, kT})));
     },
     nullptr},
    {"rows hidden by -10000 weigh their keys alike",
     [](Net& n) {
       return Attended(n, n.Where(n.BoolInput({kB, 1, kS, kT}, 2), Scores(n), n.Number(-10000)));
     },
     nullptr},
    {"bounded below",
     [](Net& n) {
       const ValueId masked = n.Add(Scores(n), Hidden(n, 1));
       return Attended(n, n.Max(masked, n.Number(kLowest)));
     },
     nullptr, false},
    {"scores that stay in sight",
     [](Net& n) { return Attended(n, n.Where(n.Causal(kS, kT), Scores(n), n.Number(-8))); },
     "hidden scores become -8, which does not hide them for certain"},
};

constexpr Form kShapes[] = {
    {"a matrix",
     [](Net& n) {
       const ValueId scores = n.MatMul(n.Input({kS, kD}), n.Transpose(n.Input({kT, kD}), {1, 0}));
       return n.MatMul(n.Softmax(n.Times(scores, 0.25)), n.Input({kT, kE}));
     },
     nullptr},
    {"heads joined to the batch around the mask",
     [](Net& n) {
       const Dims joined = {kB * kH, kS, kT}, apart = {kB, kH, kS, kT};
       const ValueId scores =
           n.MatMul(n.Input({kB * kH, kS, kD}), n.Transpose(n.Input({kB * kH, kT, kD}), {0, 2, 1}));
       const ValueId masked = n.Add(n.Reshape(scores, apart), n.Input({kB, 1, kS, kT}));
       return n.MatMul(n.Softmax(n.Reshape(masked, joined)), n.Input({kB * kH, kT, kE}));
     },
     nullptr},
    {"windows with a mask each",
     [](Net& n) {
       const ValueId biased = n.Add(Scores(n), n.Input({1, kH, kS, kT}));
       const ValueId windows =
           n.Add(n.Reshape(biased, {1, kB, kH, kS, kT}), n.Input({1, kB, 1, kS, kT}));
       return Attended(n, n.Reshape(windows, {kB, kH, kS, kT}));
     },
     nullptr},
    {"groups of heads as rows, in another order",
     [](Net& n) {  // btkgh,bskh->bkgts; bkgts,bskh->bkgth
       const ValueId q = n.Transpose(n.Input({kB, kS, 2, 2, kD}), {0, 2, 1, 3, 4});
       const ValueId k = n.Input({kB * 2, kD, kT});
       const ValueId scores = n.MatMul(n.Reshape(q, {kB * 2, kS * 2, kD}), k);
       const ValueId apart = n.Transpose(n.Reshape(scores, {kB, 2, kS, 2, kT}), {0, 1, 3, 2, 4});
       const ValueId weights = n.Softmax(n.Where(n.Causal(kS, kT), apart, n.Number(kLowest)));
       return n.MatMul(n.Reshape(weights, {kB * 2, 2 * kS, kT}), n.Input({kB * 2, kT, kE}));
     },
     nullptr},
    {"keys times queries, transposed",
     [](Net& n) {
       const ValueId turned = n.MatMul(n.Input({kB, kH, kT, kD}), n.Input({kB, kH, kD, kS}));
       return Attended(n, n.Add(n.Times(n.Transpose(turned, kTurned), 0.5), n.Input({kS, kT})));
     },
     nullptr},
    {"values times weights, transposed",
     [](Net& n) {
       const ValueId weights = n.Softmax(n.Times(Scores(n), 0.5));
       return n.MatMul(n.Input({kB, kH, kE, kT}), n.Transpose(weights, kTurned));
     },
     nullptr},
    {"weights of keys over queries",
     [](Net& n) {
       const ValueId turned = n.MatMul(n.Input({kB, kH, kT, kD}), n.Input({kB, kH, kD, kS}));
       return n.MatMul(n.Input({kB, kH, kE, kT}), n.Softmax(turned, 2));
     },
     nullptr},
    {"parts of one projection",
     [](Net& n) {
       const ValueId all = n.Reshape(n.Input({kB, kS, 3 * kH * kD}), {kB, kS, 3 * kH, kD});
       const ValueId heads = n.Transpose(all, {0, 2, 1, 3});
       const ValueId k = n.Transpose(n.Part(heads, 1, kH, kH), kTurned);
       const ValueId scores = n.Times(n.MatMul(n.Part(heads, 1, 0, kH), k), 0.3);
       return n.MatMul(n.Softmax(n.Add(scores, n.Input({kS, kS}))), n.Part(heads, 1, 2 * kH, kH));
     },
     nullptr},
    {"softmax spelled out, sums without their dimension",
     [](Net& n) {
       const ValueId x = Scores(n);
       const Dims kept = {kB, kH, kS, 1};
       const ValueId highest = n.Max(n.Reshape(n.Reduce("max", x, false), kept), n.Number(-kInf));
       const ValueId e = n.Exp(n.Sub(x, highest));
       return n.MatMul(n.Div(e, n.Reshape(n.Reduce("sum", e, false), kept)), V(n));
     },
     nullptr},
    {"keys split by a reshape",
     [](Net& n) {
       const ValueId wide = n.MatMul(Q(n), n.Input({kB, kH, kD, 6}));
       const ValueId split = n.Add(n.Reshape(wide, {kB, kH, kS, 2, 3}), n.Input({kS, 2, 1}));
       return n.MatMul(n.Softmax(n.Reshape(split, {kB, kH, kS, 6})), n.Input({kB, kH, 6, kE}));
     },
     "a reshape splits or joins its keys"},
    {"a softmax over the queries", [](Net& n) { return n.MatMul(n.Softmax(Scores(n), 2), V(n)); },
     "its softmax is not over the keys"},
    {"a soft cap",
     [](Net& n) { return Attended(n, n.Times(n.Tanh(n.Times(Scores(n), 0.02)), 50)); },
     "'tanh', a soft cap, stands between the product with the keys and the softmax"},
    {"weights that are changed",
     [](Net& n) {
       return n.MatMul(n.Mul(n.Softmax(Scores(n)), n.Input({kS, kT})), V(n));
     },
     "'mul' stands between the softmax and the product with the values"},
};

// Keys and values of two heads serve four, in one batch unless more are named.
constexpr int64_t kOne = 1;
ValueId Few(Net& n) { return n.Input({kOne, 2, kT, kD}); }
ValueId Joined(Net& n, ValueId x) {
  const Dims wide = {kOne, 2, 2, kT, kD};
  return n.Reshape(n.Expand(n.Reshape(x, {kOne, 2, 1, kT, kD}), wide), {kOne, kH, kT, kD});
}
ValueId Grouped(Net& n, ValueId k, ValueId v, int64_t queries) {
  const ValueId q = n.Input({kOne, kH, queries, kD});
  const ValueId scores = n.Times(n.MatMul(q, n.Transpose(k, kTurned)), 0.3);
  return n.MatMul(n.Softmax(n.Add(scores, n.Input({queries, kT}))), v);
}

// Row `hidden` sees nothing, and becomes zero.
ValueId SafelyGrouped(Net& n, int64_t queries, int64_t hidden) {
  const ValueId k = Joined(n, Few(n));
  const ValueId scores = n.MatMul(n.Input({kOne, kH, queries, kD}), n.Transpose(k, kTurned));
  const ValueId mask =
      n.Where(n.BoolInput({kOne, 1, queries, kT}, hidden), n.Number(0), n.Number(-kInf));
  const ValueId weights = n.NanToZero(n.Softmax(n.Add(scores, mask)));
  return n.MatMul(weights, Joined(n, Few(n)));
}

constexpr Form kGroups[] = {
    {"rows that see nothing are zero", [](Net& n) { return SafelyGrouped(n, kS, 2); }, nullptr},
    {"one query that sees nothing is zero", [](Net& n) { return SafelyGrouped(n, 1, 0); }, nullptr},
    {"heads joined to rows",
     [](Net& n) {
       const ValueId k = n.Expand(n.Input({1, 2, 1, kT, kD}), {1, 2, 2, kT, kD});
       const ValueId keys = n.Reshape(k, {1, kH, kT, kD});
       const ValueId scores = n.MatMul(n.Input({1, kH, kS, kD}), n.Transpose(keys, kTurned));
       const ValueId y = n.MatMul(n.Softmax(n.Times(scores, 0.5)), keys);
       return n.Reshape(n.Transpose(y, {0, 2, 1, 3}), {kS, kH * kD});
     },
     nullptr},
    {"repeated by a reshape",
     [](Net& n) { return Grouped(n, Joined(n, Few(n)), Joined(n, Few(n)), kS); }, nullptr},
    {"one query", [](Net& n) { return Grouped(n, Joined(n, Few(n)), Joined(n, Few(n)), 1); },
     nullptr},
    {"repeated by a gather",
     [](Net& n) {
       const ValueId twice = n.Indices({0, 0, 1, 1});
       return Grouped(n, n.Gather(Few(n), twice, 1), n.Gather(Few(n), twice, 1), kS);
     },
     nullptr},
    {"repeated by a tile",
     [](Net& n) {
       const auto tiled = [&](ValueId x) {
         return n.Reshape(n.Tile(n.Reshape(x, {kOne, 2, 1, kT, kD}), {1, 1, 2, 1, 1}),
                          {kOne, kH, kT, kD});
       };
       return Grouped(n, tiled(Few(n)), tiled(Few(n)), kS);
     },
     nullptr},
    {"repeated before a transpose",
     [](Net& n) {
       const auto turned = [&] {
         const ValueId x = n.Expand(n.Input({kOne, kT, 2, 1, kD}), {kOne, kT, 2, 2, kD});
         return n.Transpose(n.Reshape(x, {kOne, kT, kH, kD}), {0, 2, 1, 3});
       };
       const ValueId k = turned();
       return Grouped(n, k, turned(), kS);
     },
     nullptr},
    {"one head for all",
     [](Net& n) {
       const ValueId k = n.Expand(n.Input({kOne, 1, kT, kD}), {kOne, kH, kT, kD});
       return Grouped(n, k, n.Expand(n.Input({kOne, 1, kT, kD}), {kOne, kH, kT, kD}), kS);
     },
     nullptr},
    {"one head for all, by broadcasting",
     [](Net& n) {
       return Grouped(n, n.Input({kOne, 1, kT, kD}), n.Input({kOne, 1, kT, kD}), kS);
     },
     nullptr},
    {"a mask for each head",
     [](Net& n) {
       const ValueId k = Joined(n, Few(n));
       const ValueId scores = n.MatMul(n.Input({kOne, kH, kS, kD}), n.Transpose(k, kTurned));
       return n.MatMul(n.Softmax(n.Add(scores, n.Input({kOne, kH, kS, kT}))), Joined(n, Few(n)));
     },
     nullptr},
    {"several batches",
     [](Net& n) {
       const auto joined = [&] {
         const ValueId x = n.Reshape(n.Input({kB, 2, kT, kD}), {kB, 2, 1, kT, kD});
         return n.Reshape(n.Expand(x, {kB, 2, 2, kT, kD}), {kB, kH, kT, kD});
       };
       const ValueId k = joined();
       const ValueId scores = n.Add(n.MatMul(Q(n), n.Transpose(k, kTurned)), Hidden(n, 1));
       return n.MatMul(n.NanToZero(n.Softmax(scores)), joined());
     },
     nullptr},
    {"values masked along the keys",
     [](Net& n) {
       const ValueId k = Joined(n, Few(n));
       const ValueId v = n.Where(n.BoolInput({kT, 1}, -1), Joined(n, Few(n)), n.Number(0));
       const ValueId scores = n.MatMul(n.Input({kOne, kH, kS, kD}), n.Transpose(k, kTurned));
       return n.MatMul(n.Softmax(scores), v);
     },
     nullptr},
    {"values masked for each head",
     [](Net& n) {
       const ValueId k = Joined(n, Few(n));
       const ValueId v = n.Where(n.BoolInput({kH, kT, 1}, -1), Joined(n, Few(n)), n.Number(0));
       const ValueId scores = n.MatMul(n.Input({kOne, kH, kS, kD}), n.Transpose(k, kTurned));
       return n.MatMul(n.Softmax(scores), v);
     },
     nullptr},
    {"one query of several batches",
     [](Net& n) {
       const ValueId x = n.Reshape(n.Input({kB, 2, kT, kD}), {kB, 2, 1, kT, kD});
       const ValueId k = n.Reshape(n.Expand(x, {kB, 2, 2, kT, kD}), {kB, kH, kT, kD});
       const ValueId scores = n.MatMul(n.Input({kB, kH, 1, kD}), n.Transpose(k, kTurned));
       const ValueId mask = n.Where(n.BoolInput({kB, 1, 1, kT}, -1), n.Number(0), n.Number(-kInf));
       return n.MatMul(n.NanToZero(n.Softmax(n.Add(scores, mask))), k);
     },
     nullptr},
    {"a mask for each query",
     [](Net& n) {
       const ValueId k = Joined(n, Few(n));
       const ValueId scores = n.MatMul(n.Input({kOne, kH, kS, kD}), n.Transpose(k, kTurned));
       return n.MatMul(n.Softmax(n.Add(scores, n.Input({kOne, 1, kS, kT}))), Joined(n, Few(n)));
     },
     nullptr},
};

class AttentionForms : public ::testing::TestWithParam<Form> {};

TEST_P(AttentionForms, IsOneNodeOrStaysWithAReason) { CheckForm(GetParam()); }
TEST_P(AttentionForms, ComputesTheSameInNarrowTypes) { CheckNarrow(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Scales, AttentionForms, ::testing::ValuesIn(kScales));
INSTANTIATE_TEST_SUITE_P(Masks, AttentionForms, ::testing::ValuesIn(kMasks));
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionForms, ::testing::ValuesIn(kShapes));
INSTANTIATE_TEST_SUITE_P(Groups, AttentionForms, ::testing::ValuesIn(kGroups));

}  // namespace
}  // namespace mlc::graph
