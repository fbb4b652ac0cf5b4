// NumPy's array files, versions 1 to 3: C order, little-endian, the element types that graphs have.
// Source: numpy.lib.format. Pure.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::client {

// INVALID_ARGUMENT if `bytes` is not such a file. Reads only the header: the tensor refers to
// `bytes`, which `owner` keeps alive.
Result<graph::TensorDataRef> ParseNpy(std::string_view bytes, std::shared_ptr<const void> owner);

}  // namespace mlc::client
