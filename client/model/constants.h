// --constant NAME=VALUES: inputs of a model with known values, from the command line. Thread-safe
// (no shared state).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::client {

// Tensors by the names of inputs, for ImportOptions::bound_inputs.
using Constants = std::map<std::string, graph::TensorDataRef>;

inline constexpr const char* kConstantHelp =
    "NAME=VALUES: an input that has these values in every run, and is no input of the library, as "
    "the shape that a model reshapes to; VALUES are numbers separated by commas, or an .npy or .pb "
    "file";

// Each argument is NAME=VALUES. Numbers take the type and shape that the model declares for the
// input; a file has its own, which must be the declared one. INVALID_ARGUMENT for another form, an
// input that the model does not have or that is named twice, numbers that do not fit the type, or
// another count of them than the shape has.
Result<Constants> ReadConstants(const std::string& model,
                                const std::vector<std::string>& arguments);

}  // namespace mlc::client
