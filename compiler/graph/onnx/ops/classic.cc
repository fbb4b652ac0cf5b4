// Scalers, selections and linear models of classical machine learning (domain ai.onnx.ml), as
// converters of such pipelines write them around matrix products. Labels are integers.
#include <algorithm>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// Numbers of a list attribute: one, or one a column of `x`.
ValueId PerColumn(OpContext& c, ValueId x, std::string_view name, double absent) {
  Builder& b = c.b;
  const std::vector<double> values = c.HasAttr(name) ? c.Floats(name) : std::vector<double>{absent};
  if (!c.ok()) return kNoValue;
  const auto count = static_cast<int64_t>(values.size());
  if (count == 1) return b.Scalar(DType::kF32, values[0]);
  if (count != b.Dim(x, b.RankOf(x) - 1)) {
    c.Fail(std::string(name) + " must have one entry, or one a column");
    return kNoValue;
  }
  return b.FloatTensor(DType::kF32, {count}, values);
}

void Scaler(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = b.Cast(c.In(0), DType::kF32);
  const ValueId centred = b.Minus(x, PerColumn(c, x, "offset", 0));
  c.Out(b.Times(centred, PerColumn(c, x, "scale", 1)));
}

void Binarizer(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId threshold = b.ScalarLike(x, c.Float("threshold", 0));
  const ValueId above = b.Apply(ScalarOp::kLess, {threshold, x});
  c.Out(b.Cast(above, b.DTypeOf(x)));
}

// Values that stand for missing ones are replaced.
void Imputer(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  if (!c.ok()) return;
  if (b.DTypeOf(x) != DType::kF32) return c.Unsupported("an operand that is not of f32");
  const double missing = c.Float("replaced_value_float", 0);
  const ValueId hole = missing == missing ? b.Apply(ScalarOp::kEqual, {x, b.ScalarLike(x, missing)})
                                          : b.Apply(ScalarOp::kIsNan, {x});
  c.Out(b.Select(hole, PerColumn(c, x, "imputed_value_floats", 0), x));
}

// Rows divided by their norm; rows without one stay.
void Normalizer(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = b.Cast(c.In(0), DType::kF32);
  const std::string norm = c.Text("norm", "MAX");
  if (!c.ok()) return;
  if (norm != "MAX" && norm != "L1" && norm != "L2") return c.Fail("norm must be MAX, L1 or L2");
  const char* kind = norm == "MAX" ? "max" : norm == "L1" ? "l1" : "l2";
  const ValueId size = b.Reduce(kind, x, {b.RankOf(x) - 1}, true);
  const ValueId none = b.Apply(ScalarOp::kEqual, {size, b.ScalarLike(size, 0)});
  c.Out(b.Over(x, b.Select(none, b.ScalarLike(size, 1), size)));
}

// The named columns; of a vector, as one row.
void ArrayFeatureExtractor(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId columns = c.In(1);
  if (!c.ok()) return;
  if (b.RankOf(x) < 1) return c.Fail("operand 0 must have rank 1 or more");
  const int64_t count = b.TypeOf(columns).NumElements();
  const ValueId chosen =
      b.Gather(x, b.Reshape(b.Cast(columns, DType::kI64), {count}), b.RankOf(x) - 1);
  c.Out(b.RankOf(chosen) == 1 ? b.Reshape(chosen, {1, count}) : chosen);
}

// x times the rows of the attribute "coefficients", `outputs` of them, and the intercepts.
ValueId LinearScores(OpContext& c, int64_t outputs) {
  Builder& b = c.b;
  const ValueId x = b.Cast(c.In(0), DType::kF32);
  const std::vector<double> weights = c.Floats("coefficients");
  const std::vector<double> intercepts =
      c.HasAttr("intercepts") ? c.Floats("intercepts") : std::vector<double>{};
  if (!c.ok()) return kNoValue;
  const int64_t columns = b.Dim(x, 1);
  const auto count = static_cast<int64_t>(weights.size());
  if (b.RankOf(x) != 2 || outputs < 1 || count % outputs != 0 || count / outputs != columns ||
      (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != outputs)) {
    c.Fail("coefficients and intercepts do not fit the operand");
    return kNoValue;
  }
  const ValueId rows = b.FloatTensor(DType::kF32, {outputs, columns}, weights);
  const ValueId y = b.MatMul(x, b.Transpose(rows, {1, 0}));
  if (intercepts.empty()) return y;
  return b.Plus(y, b.FloatTensor(DType::kF32, {outputs}, intercepts));
}

ValueId Transformed(OpContext& c, ValueId scores) {
  const std::string transform = c.Text("post_transform", "NONE");
  if (!c.ok() || transform == "NONE") return scores;
  if (transform == "LOGISTIC") return c.b.Apply(ScalarOp::kSigmoid, {scores});
  if (transform == "SOFTMAX") return c.b.Softmax(scores, 1);
  c.Unsupported("post_transform=" + Quote(transform));
  return kNoValue;
}

void LinearRegressor(OpContext& c) { c.Out(Transformed(c, LinearScores(c, c.Int("targets", 1)))); }

// Results: the label of the largest score, and the scores.
void LinearClassifier(OpContext& c) {
  Builder& b = c.b;
  const Dims labels = c.Ints("classlabels_ints");
  if (!c.ok()) return;
  if (labels.size() < 2) return c.Unsupported("a classifier without two labels of integers");
  const ValueId scores = LinearScores(c, static_cast<int64_t>(labels.size()));
  c.Out(Transformed(c, scores), 1);
  if (!c.IsOutputUsed(0)) return;
  Value arg;
  arg.op = Op::kArg;
  arg.operands = {scores};
  arg.attrs["kind"] = std::string("max");
  arg.attrs["axis"] = int64_t{1};
  arg.attrs["keepdims"] = int64_t{0};
  c.Out(b.Gather(b.IntVector(labels), b.Add(std::move(arg)), 0), 0);
}

constexpr OpRow kClassicRows[] = {
    {"ArrayFeatureExtractor", ArrayFeatureExtractor, 2, 1},
    {"Binarizer", Binarizer, 1, 1},
    {"Imputer", Imputer, 1, 1, "f32"},
    {"LinearClassifier", LinearClassifier, 1, 2, "two or more labels, integers"},
    {"LinearRegressor", LinearRegressor, 1, 1},
    {"Normalizer", Normalizer, 1, 1},
    {"Scaler", Scaler, 1, 1},
};

}  // namespace

std::span<const OpRow> ClassicOps() { return kClassicRows; }

}  // namespace mlc::graph::onnx
