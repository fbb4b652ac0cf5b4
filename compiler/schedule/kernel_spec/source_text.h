// The source that a compiler gets for one choice of a specification's values. Private to this
// folder. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/kernel_spec/kernel_spec.h"

namespace mlc::schedule {

// The function that the text below adds.
std::string EntryOf(const KernelSpec& spec);
// Definitions of the parameters, the user's source, and a function that takes the inputs, then the
// outputs, and calls the user's with the scalars in their places. For C, it has the interface of
// generated kernels (runtime/abi.h), with the blocks as iterations.
std::string SourceOf(const KernelSpec& spec, const std::vector<ExpressionValue>& values,
                     const SpecInstance& launch);

}  // namespace mlc::schedule
