// The documentation of the operators that the importer supports. Thread-safe (no state).
#pragma once

#include <string>

namespace mlc::graph::onnx {

// docs/reference/operators.md: a Markdown table for each domain, from the operator tables.
std::string OperatorList();

}  // namespace mlc::graph::onnx
