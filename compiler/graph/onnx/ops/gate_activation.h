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
  double clip = 0;  // of the argument to [-clip, clip]; 0: none

  ValueId Apply(Builder& b, ValueId x) const;
};

// The functions `names`, with attributes activation_alpha and activation_beta given to those that
// have such a parameter, in order. Fails on names that the standard does not have.
std::optional<std::vector<GateActivation>> ReadGateActivations(
    OpContext& c, const std::vector<std::string>& names, double clip);

}  // namespace mlc::graph::onnx
