// Moves elements between strided storage and dense row-major bytes. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/graph/graph.h"

namespace mlc::graph {

// The elements of `type` in row-major order; `first` addresses the element with index zero.
std::vector<std::byte> GatherStrided(const std::byte* first, const TensorType& type);

// The inverse: dense bytes to the strided places.
void ScatterStrided(const std::byte* dense, const TensorType& type, std::byte* first);

}  // namespace mlc::graph
