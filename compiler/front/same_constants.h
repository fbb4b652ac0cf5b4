// Compares constants of two imports of one file. Thread-safe.
#pragma once

#include "compiler/front/front.h"
#include "compiler/graph/ranged/prefix.h"

namespace mlc::front {

// Constants that lie at the same place of the same file are equal without a look at their bytes.
// The models outlive the function.
graph::SameConstants SameOfFiles(const Model& a, const Model& b);

}  // namespace mlc::front
