// What several operators that ONNX Runtime adds have in common. Not thread-safe, as OpContext.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

// The activation `name` of y; its parameters default to the standard's. Fails on unknown names.
ValueId Activated(OpContext& c, ValueId y, const std::string& name, std::optional<double> alpha,
                  std::optional<double> beta);

// Result 0 of the operator of the default domain on the node's operands; the results are set, too.
ValueId Standard(OpContext& c, std::string_view op_type);

}  // namespace mlc::graph::onnx
