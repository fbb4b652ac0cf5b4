// For people: what is supported where something is not. Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

// What replaces an operator that is not supported. `instead` names supported operators in back
// quotes.
struct Replacement {
  std::string_view domain;
  std::string_view op_type;
  std::string_view instead;
};
std::span<const Replacement> Replacements();

// The nearest supported form of an operator that is not supported: its replacement, an operator of
// the same name in another domain, or what goes for all operators.
std::string InsteadOf(std::string_view domain, std::string_view op_type);
// The limits of an operator's row, and the element types.
std::string SupportedForm(const OpRow& row);
// For an operand that has to be constant.
std::string InsteadOfInputs();
// The element types of inputs and constants.
std::string SupportedTypes();

}  // namespace mlc::graph::onnx
