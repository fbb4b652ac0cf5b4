// Features: the inputs of the learned models. One table with names; each row is computed only from
// the config, the facts of its family, the workload and the target, so that a whole space can be
// scored. Sizes are logarithms or ratios to the target, so that trees transfer between shapes.
// costmodel/features.md lists the table. Pure functions; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"
#include "costmodel/problem.h"

namespace mlc::costmodel {

struct FeatureInput {
  const Problem& problem;
  const schedule::KernelFacts& facts;
  const Estimate& estimate;
  const schedule::Config& config;
  const target::Target& target;
};

struct Feature {
  std::string_view name;
  std::string_view unit;  // "log2" for logarithms to base 2
  std::string_view meaning;
  double (*value)(const FeatureInput&);
};

// Knobs of a config that features describe. A family with more of them needs more rows, which
// change the schema.
inline constexpr size_t kKnobSlots = 16;

std::span<const Feature> Features();
// The digest of names, order and the analytic model. Models with another schema are not loaded.
Digest FeatureSchema();
// REQUIRES: out.size() == Features().size(), and that the config has at most kKnobSlots knobs.
void ComputeFeatures(const FeatureInput& input, std::span<float> out);
// The table as the Markdown of features.md.
std::string FeatureTable();

}  // namespace mlc::costmodel
