// Advice for users: the supported alternative to an unsupported form. Pure; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

// The replacement of an unsupported operator. `instead` names supported operators in back quotes.
struct Replacement {
  std::string_view domain;
  std::string_view op_type;
  std::string_view instead;
};
std::span<const Replacement> Replacements();

// The nearest supported alternative of an unsupported operator: its replacement, an operator with
// the same name in another domain, or general advice.
std::string InsteadOf(std::string_view domain, std::string_view op_type);
// The limits of an operator's row, and the element types.
std::string SupportedForm(const OpRow& row);
// The advice for an operand that has to be constant.
std::string InsteadOfInputs();
// The element types of inputs and constants.
std::string SupportedTypes();

}  // namespace mlc::graph::onnx
