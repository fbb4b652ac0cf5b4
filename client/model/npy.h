// NumPy's array file, versions 1 to 3: C order, little-endian, the element types we have.
// Source: numpy.lib.format. Pure.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::client {

// INVALID_ARGUMENT for anything else than such a file. Reads the header alone: the tensor's bytes
// are those of `bytes`, which `owner` keeps.
Result<graph::TensorDataRef> ParseNpy(std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace mlc::client
