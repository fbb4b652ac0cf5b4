#include "compiler/graph/onnx/supported_forms.h"

#include <array>

namespace mlc::graph::onnx {
namespace {

constexpr std::string_view kDraws =
    "draw the numbers outside of the model and give them as an input";
constexpr std::string_view kTexts =
    "prepare texts outside of the model and give numbers as an input";
constexpr std::string_view kTraining = "export the model for inference, without training";
constexpr std::string_view kPacked =
    "4-bit constants with `DequantizeLinear` in blocks, then `MatMul`";
constexpr std::string_view kTrees = "evaluate the trees outside of the model";
constexpr std::string_view kCached =
    "`Attention` of ai.onnx, with past keys and values as inputs and outputs of the model";

constexpr std::array kReplacements = {
    Replacement{"", "Bernoulli", kDraws},
    Replacement{"", "ImageDecoder", "decode outside of the model and give the pixels as an input"},
    Replacement{"", "MaxRoiPool", "`RoiAlign` with mode max"},
    Replacement{"", "Multinomial", kDraws},
    Replacement{"", "NegativeLogLikelihoodLoss", kTraining},
    Replacement{"", "RandomNormal", kDraws},
    Replacement{"", "RandomNormalLike", kDraws},
    Replacement{"", "RandomUniform", kDraws},
    Replacement{"", "RandomUniformLike", kDraws},
    Replacement{"", "RegexFullMatch", kTexts},
    Replacement{"", "SoftmaxCrossEntropyLoss", kTraining},
    Replacement{"", "StringConcat", kTexts},
    Replacement{"", "StringNormalizer", kTexts},
    Replacement{"", "StringSplit", kTexts},
    Replacement{"", "TfIdfVectorizer", kTexts},
    Replacement{kClassicDomain, "TreeEnsemble", kTrees},
    Replacement{kClassicDomain, "TreeEnsembleClassifier", kTrees},
    Replacement{kClassicDomain, "TreeEnsembleRegressor", kTrees},
    Replacement{kFusedDomain, "CropAndResize", "`RoiAlign` of ai.onnx"},
    Replacement{kFusedDomain, "DecoderMaskedMultiHeadAttention", kCached},
    Replacement{kFusedDomain, "MatMulBnb4", kPacked},
    Replacement{kFusedDomain, "MatMulFpQ4", kPacked},
};

constexpr std::string_view kDomains[] = {"", kFusedDomain, kClassicDomain};

}  // namespace

std::span<const Replacement> Replacements() { return kReplacements; }

std::string InsteadOf(std::string_view domain, std::string_view op_type) {
  for (const Replacement& row : kReplacements) {
    if (row.domain == domain && row.op_type == op_type) return std::string(row.instead);
  }
  for (const std::string_view other : kDomains) {
    if (other == domain || FindOperator(other, op_type) == nullptr) continue;
    return "`" + std::string(op_type) + "` of " + (other.empty() ? "ai.onnx" : std::string(other));
  }
  return "operators of docs/reference/operators.md, also in a function of the model of this name";
}

std::string SupportedForm(const OpRow& row) {
  const auto count = [](int most) {
    return most == kVariadic ? std::string("any number") : std::to_string(most) + " at most";
  };
  std::string text = std::string(row.op_type);
  if (!row.limits.empty()) text += " with these limits: " + std::string(row.limits);
  return text + " (operands: " + count(row.max_inputs) + ", results: " + count(row.max_outputs) +
         ")";
}

std::string InsteadOfInputs() {
  return "make it constant: export with fixed shapes, fold constants in the model first, or give "
         "an "
         "input the value that it has in every run with --constant NAME=VALUES";
}

std::string SupportedTypes() { return "tensors of floats, integers or bool, with a shape"; }

}  // namespace mlc::graph::onnx
