// The text of NAME.h, which declares the model's table and documents its shapes. It contains no
// names of the model; those are data of the library. Pure; thread-safe.
#pragma once

#include <string>

#include "compiler/graph/program.h"

namespace mlc::package {

std::string CHeader(const graph::Program& program, const std::string& name);

// The text of mlc_model.h, the interface that all libraries share.
std::string SharedHeader();

}  // namespace mlc::package
