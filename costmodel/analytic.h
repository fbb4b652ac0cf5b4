// The analytic model: a kernel's time from what its config implies, without data. Its coefficients
// are measured shares of peak; the search uses it as a draft to be corrected by what it learns, a
// build without a log to choose among configs. Pure functions.
#pragma once

#include "compiler/backend/backend.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// Raised when an estimate changes: the learned models correct estimates.
inline constexpr int kAnalyticVersion = 1;

using backend::Estimate;

// By the target's backend.
inline Estimate EstimateKernel(const schedule::KernelFacts& facts, const target::Target& target) {
  return backend::BackendOf(target).estimate(facts, target);
}

}  // namespace mlc::costmodel
