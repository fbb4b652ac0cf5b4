// The activation functions that recurrent operators name in their attributes. Values; thread-safe.
// Source: the operators' definition in the ONNX standard.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {

struct GateActivation {
  std::string name;  // in lower case
  double alpha = 0;
  double beta = 0;
  double clip = 0;  // clips the argument to [-clip, clip]; 0: none

  ValueId Apply(Builder& b, ValueId x) const;
};

// Reads the functions `names`. Values of activation_alpha and activation_beta go, in order, to the
// functions with such a parameter. Fails on names that the standard does not have.
std::optional<std::vector<GateActivation>> ReadGateActivations(
    OpContext& c, const std::vector<std::string>& names, double clip);

}  // namespace mlc::graph::onnx
