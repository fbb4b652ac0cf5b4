// Shared code of operators that ONNX Runtime adds. Not thread-safe, as OpContext.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// Applies the activation `name` to y. Absent parameters have the defaults of the ONNX standard.
// Fails on unknown names.
ValueId Activated(OpContext& c, ValueId y, const std::string& name, std::optional<double> alpha,
                  std::optional<double> beta);

// Applies the operator of the default domain to the node's operands, sets all results and returns
// result 0.
ValueId Standard(OpContext& c, std::string_view op_type);

}  // namespace mlc::graph::onnx
