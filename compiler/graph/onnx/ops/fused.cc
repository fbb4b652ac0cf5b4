// Operators that ONNX Runtime's optimizer fuses (domain com.microsoft), as what they stand for.
#include <algorithm>
#include <cctype>
#include <optional>

#include "compiler/graph/onnx/ops/gate_activation.h"
#include "compiler/graph/onnx/ops/gelu.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

void Gelu(OpContext& c) { c.Out(ErfGelu(c.b, c.In(0))); }
void BiasGelu(OpContext& c) { c.Out(ErfGelu(c.b, c.b.Plus(c.In(0), c.In(1)))); }

void FastGelu(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(TanhGelu(c.b, c.Has(1) ? c.b.Plus(x, c.In(1)) : x));
}

void QuickGelu(OpContext& c) {
  const ValueId x = c.In(0);
  const ValueId scaled = c.b.TimesNumber(x, c.Float("alpha", 1.702));
  c.Out(c.b.Times(x, c.b.Apply(ScalarOp::kSigmoid, {scaled})));
}

ValueId LastTwoSwapped(Builder& b, ValueId x) {
  const int rank = b.RankOf(x);
  if (rank < 2) return x;
  Dims perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.Transpose(x, perm);
}

void FusedMatMul(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  ValueId y = c.In(1);
  if (c.Flag("transBatchA", false) || c.Flag("transBatchB", false)) {
    return c.Unsupported("a transposed batch");
  }
  if (c.Flag("transA", false)) x = LastTwoSwapped(b, x);
  if (c.Flag("transB", false)) y = LastTwoSwapped(b, y);
  const double alpha = c.Float("alpha", 1);
  ValueId product = MatMulOfAnyRank(c, x, y, [&](ValueId l, ValueId r) { return b.MatMul(l, r); });
  if (alpha != 1) product = b.TimesNumber(product, alpha);
  c.Out(product);
}

// The activation `name` of y; its parameters default to the standard's.
ValueId Activated(OpContext& c, ValueId y, const std::string& name, std::optional<double> alpha,
                  std::optional<double> beta) {
  Builder& b = c.b;
  if (name.empty() || !c.ok()) return y;
  if (name == "Clip") {
    if (alpha) y = b.Max(y, b.ScalarLike(y, *alpha));
    return beta ? b.Min(y, b.ScalarLike(y, *beta)) : y;
  }
  struct Known {
    const char* name;
    double alpha;
    double beta;
  };
  constexpr Known kKnown[] = {
      {"Elu", 1, 0},     {"HardSigmoid", 0.2, 0.5}, {"LeakyRelu", 0.01, 0}, {"Relu", 0, 0},
      {"Sigmoid", 0, 0}, {"Softplus", 0, 0},        {"Softsign", 0, 0},     {"Tanh", 0, 0}};
  for (const Known& known : kKnown) {
    if (name != known.name) continue;
    GateActivation activation;
    for (const char letter : name) {
      activation.name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    activation.alpha = alpha.value_or(known.alpha);
    activation.beta = beta.value_or(known.beta);
    return activation.Apply(b, y);
  }
  c.Unsupported("activation " + Quote(name));
  return kNoValue;
}

// What the operator of the default domain makes of the first operands.
ValueId Standard(OpContext& c, std::string_view op_type) {
  if (c.OutputCount() == 0) c.Fail("the node has no results");
  if (c.ok()) FindHandler({}, op_type)(c);
  return c.ok() ? c.results()[0] : kNoValue;
}

void FusedConv(OpContext& c) {
  ValueId y = Standard(c, "Conv");
  if (c.Has(3)) y = c.b.Plus(y, c.In(3));
  std::optional<double> parameters[2];
  if (c.HasAttr("activation_params")) {
    const std::vector<double> given = c.Floats("activation_params");
    for (size_t i = 0; i < std::min<size_t>(given.size(), 2); ++i) parameters[i] = given[i];
  }
  c.Out(Activated(c, y, c.Text("activation", ""), parameters[0], parameters[1]));
}

void FusedGemm(OpContext& c) {
  const ValueId y = Standard(c, "Gemm");
  std::optional<double> alpha;
  std::optional<double> beta;
  if (c.HasAttr("activation_alpha")) alpha = c.Float("activation_alpha", 0);
  if (c.HasAttr("activation_beta")) beta = c.Float("activation_beta", 0);
  c.Out(Activated(c, y, c.Text("activation", ""), alpha, beta));
}

// The sum of an operand, what skips past it and a bias, which is a result too.
ValueId SkipSum(OpContext& c, int bias) {
  ValueId sum = c.b.Plus(c.In(0), c.In(1));
  if (c.Has(bias)) sum = c.b.Plus(sum, c.In(bias));
  if (c.ok() && c.b.RankOf(sum) < 1) c.Fail("operand 0 must have rank 1 or more");
  c.Out(sum, 3);
  return sum;
}

void SkipLayerNormalization(OpContext& c) {
  const ValueId sum = SkipSum(c, 4);
  std::vector<ValueId> operands = {sum, c.In(2)};
  if (c.Has(3)) operands.push_back(c.In(3));
  if (!c.ok()) return;
  c.Out(LayerNorm(c.b, operands, c.b.RankOf(sum) - 1, c.Float("epsilon", 1e-12)));
}

void SkipSimplifiedLayerNormalization(OpContext& c) {
  const ValueId sum = SkipSum(c, 3);
  const ValueId scale = c.In(2);
  if (!c.ok()) return;
  c.Out(RmsNorm(c.b, sum, scale, c.b.RankOf(sum) - 1, c.Float("epsilon", 1e-12)));
}

constexpr OpRow kFusedRows[] = {
    {"BiasGelu", BiasGelu, 2, 1},
    {"FastGelu", FastGelu, 2, 1},
    {"FusedConv", FusedConv, 4, 1},
    {"FusedGemm", FusedGemm, 3, 1},
    {"FusedMatMul", FusedMatMul, 2, 1, "no transposed batch"},
    {"Gelu", Gelu, 1, 1},
    {"QuickGelu", QuickGelu, 1, 1},
    {"SkipLayerNormalization", SkipLayerNormalization, 5, 4},
    {"SkipSimplifiedLayerNormalization", SkipSimplifiedLayerNormalization, 4, 4},
};

}  // namespace

std::span<const OpRow> FusedOps() { return kFusedRows; }

}  // namespace mlc::graph::onnx
