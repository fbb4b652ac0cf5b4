// Attention of models in 16 bits, whose softmax or products are wider: one node in the model's
// type.
#include <gtest/gtest.h>

#include "tests/unit/graph/passes/attention_net.h"

namespace mlc::graph {
namespace {

constexpr int64_t kB = 2, kH = 2, kS = 5, kT = 7, kD = 8;
const Dims kTurned = {0, 1, 3, 2};

ValueId Q(Net& n) { return n.Input({kB, kH, kS, kD}); }
ValueId K(Net& n) { return n.Input({kB, kH, kT, kD}); }
ValueId Scores(Net& n) { return n.MatMul(Q(n), n.Transpose(K(n), kTurned)); }
ValueId Wide(Net& n, ValueId x) { return n.Cast(x, DType::kF32); }
ValueId Back(Net& n, ValueId x) { return n.Cast(x, n.dtype); }
ValueId WideNumber(Net& n, double value) { return n.graph.Splat(DType::kF32, value); }

ValueId WideSoftmax(Net& n) {
  const ValueId mask = n.Where(n.BoolInput({kB, 1, kS, kT}, -1), n.Number(0), n.Number(-60000));
  return n.MatMul(Back(n, n.Softmax(Wide(n, n.Add(n.Times(Scores(n), 0.25), mask)))), K(n));
}

// The product and the mask are wide, too; row `hidden` sees nothing.
ValueId WideScores(Net& n, int64_t hidden, double number) {
  const ValueId k = n.Transpose(Wide(n, K(n)), kTurned);
  const ValueId scores = n.Mul(n.MatMul(Wide(n, Q(n)), k), WideNumber(n, 0.25));
  const ValueId mask =
      n.Where(n.BoolInput({kB, 1, kS, kT}, hidden), WideNumber(n, 0), WideNumber(n, number));
  return n.Softmax(n.Add(scores, mask));
}

constexpr Form kHalves[] = {
    {"plain", [](Net& n) { return n.MatMul(n.Softmax(n.Times(Scores(n), 0.25)), K(n)); }, nullptr,
     true, DType::kF16},
    {"a wide softmax", WideSoftmax, nullptr, true, DType::kF16},
    {"wide scores, rows that see nothing weigh their keys alike",
     [](Net& n) { return n.MatMul(Back(n, WideScores(n, -1, kLowest)), K(n)); }, nullptr, true,
     DType::kF16},
    {"wide scores and infinities, rows that see nothing are zero",
     [](Net& n) {
       const ValueId weights = WideScores(n, 2, -kInf);
       const ValueId checked =
           n.Where(AddPointwise(n.graph, ScalarOp::kIsNan, {weights}), WideNumber(n, 0), weights);
       return n.MatMul(Back(n, checked), K(n));
     },
     nullptr, true, DType::kF16},
    {"infinities without a check are NaN",
     [](Net& n) { return n.MatMul(Back(n, WideScores(n, 2, -kInf)), K(n)); }, nullptr, false,
     DType::kF16},
    {"the lowest half hides by selection",
     [](Net& n) {
       const ValueId shown = n.BoolInput({kB, 1, kS, kT}, 1);
       return n.MatMul(n.Softmax(n.Where(shown, Scores(n), n.Number(-65504))), K(n));
     },
     nullptr, true, DType::kF16},
    {"the lowest half is added, rows that see nothing weigh their keys alike",
     [](Net& n) {
       const ValueId shown = n.BoolInput({kB, 1, kS, kT}, 1);
       const ValueId mask = n.Where(shown, n.Number(0), n.Number(-65504));
       return n.MatMul(n.Softmax(n.Add(Scores(n), mask)), K(n));
     },
     nullptr, true, DType::kF16},
    {"of another type than the values",
     [](Net& n) {
       const ValueId q = n.graph.Input({DType::kF32, {kB, kH, kS, kD}, {}});
       n.sources.push_back(WriteDoubles(DType::kF32, {kB, kH, kS, kD},
                                        std::vector<double>(kB * kH * kS * kD, 0.5)));
       const ValueId k = n.Transpose(Wide(n, K(n)), kTurned);
       return n.MatMul(Back(n, n.Softmax(n.MatMul(q, k))), K(n));
     },
     "its queries, keys and values have different types", true, DType::kF16},
};

constexpr Form kBrains[] = {
    {"a wide softmax",
     [](Net& n) { return n.MatMul(Back(n, n.Softmax(Wide(n, Scores(n)))), K(n)); }, nullptr, true,
     DType::kBF16},
    {"wide scores", [](Net& n) { return n.MatMul(Back(n, WideScores(n, -1, kLowest)), K(n)); },
     nullptr, true, DType::kBF16},
};

constexpr Form kDoubles[] = {
    {"doubles", [](Net& n) { return n.MatMul(n.Softmax(Scores(n)), K(n)); },
     "it computes with doubles", true, DType::kF64},
};

class AttentionTypes : public ::testing::TestWithParam<Form> {};

TEST_P(AttentionTypes, IsOneNodeOrStaysWithAReason) { CheckForm(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Halves, AttentionTypes, ::testing::ValuesIn(kHalves));
INSTANTIATE_TEST_SUITE_P(Brains, AttentionTypes, ::testing::ValuesIn(kBrains));
INSTANTIATE_TEST_SUITE_P(Doubles, AttentionTypes, ::testing::ValuesIn(kDoubles));

}  // namespace
}  // namespace mlc::graph
