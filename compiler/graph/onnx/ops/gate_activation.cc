#include "compiler/graph/onnx/ops/gate_activation.h"

#include <algorithm>
#include <cctype>

namespace mlc::graph::onnx {
namespace {

ValueId Relu(Builder& b, ValueId x) { return b.Max(x, b.ScalarLike(x, 0)); }

ValueId IfNegative(Builder& b, ValueId x, ValueId value) {
  return b.Select(b.Apply(ScalarOp::kLess, {x, b.ScalarLike(x, 0)}), value, x);
}

struct Function {
  const char* name;
  bool has_alpha;
  bool has_beta;
  double alpha;
  double beta;
  ValueId (*apply)(Builder& b, ValueId x, double alpha, double beta);
};

constexpr Function kFunctions[] = {
    {"affine", true, true, 1, 0,
     [](Builder& b, ValueId x, double alpha, double beta) {
       return b.PlusNumber(b.TimesNumber(x, alpha), beta);
     }},
    {"elu", true, false, 1, 0,
     [](Builder& b, ValueId x, double alpha, double) {
       const ValueId power = b.Apply(ScalarOp::kExp, {b.Min(x, b.ScalarLike(x, 0))});
       return IfNegative(b, x, b.TimesNumber(b.PlusNumber(power, -1.0), alpha));
     }},
    {"hardsigmoid", true, true, 0.2, 0.5,
     [](Builder& b, ValueId x, double alpha, double beta) {
       const ValueId line = b.PlusNumber(b.TimesNumber(x, alpha), beta);
       return b.Min(Relu(b, line), b.ScalarLike(x, 1));
     }},
    {"leakyrelu", true, false, 0.01, 0,
     [](Builder& b, ValueId x, double alpha, double) {
       return IfNegative(b, x, b.TimesNumber(x, alpha));
     }},
    {"relu", false, false, 0, 0, [](Builder& b, ValueId x, double, double) { return Relu(b, x); }},
    {"scaledtanh", true, true, 1, 1,
     [](Builder& b, ValueId x, double alpha, double beta) {
       return b.TimesNumber(b.Apply(ScalarOp::kTanh, {b.TimesNumber(x, beta)}), alpha);
     }},
    {"sigmoid", false, false, 0, 0,
     [](Builder& b, ValueId x, double, double) { return b.Apply(ScalarOp::kSigmoid, {x}); }},
    {"softplus", false, false, 0, 0,
     [](Builder& b, ValueId x, double, double) {
       const ValueId size = b.Apply(ScalarOp::kNeg, {b.Apply(ScalarOp::kAbs, {x})});
       const ValueId tail = b.PlusNumber(b.Apply(ScalarOp::kExp, {size}), 1.0);
       return b.Plus(Relu(b, x), b.Apply(ScalarOp::kLog, {tail}));
     }},
    {"softsign", false, false, 0, 0,
     [](Builder& b, ValueId x, double, double) {
       return b.Over(x, b.PlusNumber(b.Apply(ScalarOp::kAbs, {x}), 1.0));
     }},
    {"tanh", false, false, 0, 0,
     [](Builder& b, ValueId x, double, double) { return b.Apply(ScalarOp::kTanh, {x}); }},
    {"thresholdedrelu", true, false, 1, 0,
     [](Builder& b, ValueId x, double alpha, double) {
       const ValueId above = b.Apply(ScalarOp::kLess, {b.ScalarLike(x, alpha), x});
       return b.Select(above, x, b.ScalarLike(x, 0));
     }},
};

const Function* FindFunction(const std::string& name) {
  for (const Function& function : kFunctions) {
    if (name == function.name) return &function;
  }
  return nullptr;
}

}  // namespace

ValueId GateActivation::Apply(Builder& b, ValueId x) const {
  if (clip > 0) x = b.Min(b.Max(x, b.ScalarLike(x, -clip)), b.ScalarLike(x, clip));
  return FindFunction(name)->apply(b, x, alpha, beta);
}

std::optional<std::vector<GateActivation>> ReadGateActivations(
    OpContext& c, const std::vector<std::string>& names, double clip) {
  const std::vector<double> alphas = c.Floats("activation_alpha");
  const std::vector<double> betas = c.Floats("activation_beta");
  size_t next_alpha = 0;
  size_t next_beta = 0;
  std::vector<GateActivation> read;
  for (const std::string& name : names) {
    GateActivation activation;
    for (const char letter : name) {
      activation.name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    const Function* const function = FindFunction(activation.name);
    if (function == nullptr) {
      c.Fail("there is no activation " + Quote(name));
      return std::nullopt;
    }
    activation.alpha = function->alpha;
    activation.beta = function->beta;
    activation.clip = clip;
    if (function->has_alpha && next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    if (function->has_beta && next_beta < betas.size()) activation.beta = betas[next_beta++];
    read.push_back(activation);
  }
  return read;
}

}  // namespace mlc::graph::onnx
