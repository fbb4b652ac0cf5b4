// Operators that ONNX Runtime's optimizer fuses (domain com.microsoft), as what they stand for.
#include <algorithm>
#include <cctype>
#include <optional>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/ops/fused.h"
#include "compiler/graph/onnx/ops/gate_activation.h"
#include "compiler/graph/onnx/ops/gelu.h"
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

// Dimension 0 becomes the last but one, as rows of a batch that stood behind them.
ValueId FirstToRows(Builder& b, ValueId x) {
  const int64_t rank = b.RankOf(x);
  if (rank < 3) return x;
  Dims perm;
  for (int64_t i = 1; i < rank - 1; ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(rank - 1);
  return b.Transpose(x, perm);
}

ValueId FusedProduct(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  ValueId y = c.In(1);
  if (c.Flag("transBatchA", false)) x = FirstToRows(b, x);
  if (c.Flag("transBatchB", false)) y = FirstToRows(b, y);
  if (c.Flag("transA", false)) x = LastTwoSwapped(b, x);
  if (c.Flag("transB", false)) y = LastTwoSwapped(b, y);
  const double alpha = c.Float("alpha", 1);
  const ValueId product =
      MatMulOfAnyRank(c, x, y, [&](ValueId l, ValueId r) { return b.MatMul(l, r); });
  return alpha == 1 ? product : b.TimesNumber(product, alpha);
}

void FusedMatMul(OpContext& c) { c.Out(FusedProduct(c)); }

}  // namespace

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

ValueId Standard(OpContext& c, std::string_view op_type) {
  if (c.OutputCount() == 0) c.Fail("the node has no results");
  if (c.ok()) FindHandler({}, op_type)(c);
  return c.ok() ? c.results()[0] : kNoValue;
}

namespace {

void FusedGemm(OpContext& c) {
  const ValueId y = Standard(c, "Gemm");
  std::optional<double> alpha;
  std::optional<double> beta;
  if (c.HasAttr("activation_alpha")) alpha = c.Float("activation_alpha", 0);
  if (c.HasAttr("activation_beta")) beta = c.Float("activation_beta", 0);
  c.Out(Activated(c, y, c.Text("activation", ""), alpha, beta));
}

void FusedMatMulActivation(OpContext& c) {
  const ValueId y = FusedProduct(c);
  std::optional<double> alpha;
  std::optional<double> beta;
  if (c.HasAttr("activation_alpha")) alpha = c.Float("activation_alpha", 0);
  if (c.HasAttr("activation_beta")) beta = c.Float("activation_beta", 0);
  c.Out(Activated(c, y, c.Text("activation", ""), alpha, beta));
}

void GemmFastGelu(OpContext& c) {
  const ValueId y =
      MatMulOfAnyRank(c, c.In(0), c.In(1), [&](ValueId l, ValueId r) { return c.b.MatMul(l, r); });
  c.Out(TanhGelu(c.b, c.Has(2) ? c.b.Plus(y, c.In(2)) : y));
}

void BiasAdd(OpContext& c) { c.Out(c.b.Plus(c.b.Plus(c.In(0), c.In(1)), c.In(2))); }

// The first half of the last dimension times the GELU of the second.
void BiasSplitGelu(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = b.Plus(c.In(0), c.In(1));
  const int64_t last = b.RankOf(x) - 1;
  const int64_t half = b.Dim(x, last) / 2;
  if (c.ok() && (last < 0 || b.Dim(x, last) != 2 * half)) {
    return c.Fail("the last dimension must be even");
  }
  const ValueId gate = ErfGelu(b, b.SliceAxis(x, last, half, half));
  c.Out(b.Times(b.SliceAxis(x, last, 0, half), gate));
}

// The bias lacks dimensions of the scores: those at the front, or some between the front and the
// axis.
void BiasSoftmax(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", 1), b.RankOf(x));
  const ValueId bias = c.In(1);
  if (c.ok() && c.RequiredInt("is_inner_broadcast") != 0 && b.RankOf(bias) != b.RankOf(x)) {
    return c.Unsupported("a bias of another rank than the scores with is_inner_broadcast=1");
  }
  const ValueId sum = b.Plus(x, bias);
  if (!c.ok()) return;
  const Dims dims = b.DimsOf(x);
  Dims flat(dims.begin(), dims.begin() + axis);
  flat.push_back(1);
  for (size_t i = static_cast<size_t>(axis); i < dims.size(); ++i) flat.back() *= dims[i];
  c.Out(b.Reshape(b.Softmax(b.Reshape(sum, flat), axis), dims));
}

void StandardGatherND(OpContext& c) { Standard(c, "GatherND"); }
void StandardPad(OpContext& c) { Standard(c, "Pad"); }
void StandardTrilu(OpContext& c) { Standard(c, "Trilu"); }

constexpr OpRow kFusedRows[] = {
    {"BiasAdd", BiasAdd, 3, 1},
    {"BiasGelu", BiasGelu, 2, 1},
    {"BiasSoftmax", BiasSoftmax, 2, 1, "a bias that broadcasts as it is"},
    {"BiasSplitGelu", BiasSplitGelu, 2, 1},
    {"FastGelu", FastGelu, 2, 1},
    {"FusedGemm", FusedGemm, 3, 1},
    {"FusedMatMul", FusedMatMul, 2, 1},
    {"FusedMatMulActivation", FusedMatMulActivation, 2, 1},
    {"GatherND", StandardGatherND, 2, 1},
    {"Gelu", Gelu, 1, 1},
    {"GemmFastGelu", GemmFastGelu, 3, 1},
    {"Pad", StandardPad, 3, 1},
    {"QuickGelu", QuickGelu, 1, 1},
    {"TransposeMatMul", FusedMatMul, 2, 1},
    {"Trilu", StandardTrilu, 2, 1},
};

}  // namespace

std::span<const OpRow> FusedOps() { return kFusedRows; }

}  // namespace mlc::graph::onnx
