// The analytic model: predicts a kernel's time from the facts of its config, without measurements.
// Its coefficients are measured shares of peak. A search starts from its predictions and corrects
// them with what it learns; a build without a log uses them to choose among configs. Pure
// functions; thread-safe.
#pragma once

#include "compiler/backend/backend.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::costmodel {

// Increase it when an estimate changes, because learned models correct estimates.
inline constexpr int kAnalyticVersion = 1;

using backend::Estimate;

// The estimate of the target's backend.
inline Estimate EstimateKernel(const schedule::KernelFacts& facts, const target::Target& target) {
  return backend::BackendOf(target).estimate(facts, target);
}

}  // namespace mlc::costmodel
