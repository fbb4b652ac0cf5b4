// Whether values of a class of a range lie where a larger class has the first rows of the same
// values. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/digest.h"
#include "compiler/graph/program.h"

namespace mlc::client {

bool AreFirstRows(const std::vector<graph::Port>& smaller, const std::vector<graph::Port>& larger);

// Of a step: results, and operands that are no constants.
bool AreFirstRows(const graph::Program& smaller, const graph::Program& larger, size_t step);

// Whether the nodes of the step have the same attributes and numbers in both.
bool HaveSameAttributes(const graph::Program& smaller, const graph::Program& larger, size_t step);

// Whether the elements of each constant that the step reads are the elements of the same indices
// of what it reads in the larger class. The digests are those of the programs' constants.
bool HasFirstConstants(const graph::Program& smaller, std::span<const Digest> digests,
                       const graph::Program& larger, std::span<const Digest> larger_digests,
                       size_t step);

}  // namespace mlc::client
