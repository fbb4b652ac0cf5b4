// The operators that the importer knows, for people. No state.
#pragma once

#include <string>

namespace mlc::graph::onnx {

// docs/reference/operators.md: a Markdown table for each domain, from the operator tables.
std::string OperatorList();

}  // namespace mlc::graph::onnx
