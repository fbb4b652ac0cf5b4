// The text of NAME.h: declares the model's table and says its shapes. Names from the model do not
// occur in it; they are data of the library. Pure.
#pragma once

#include <string>

#include "compiler/graph/program.h"

namespace mlc::package {

std::string CHeader(const graph::Program& program, const std::string& name);

// The text of mlc_model.h, the interface all libraries share.
std::string SharedHeader();

}  // namespace mlc::package
