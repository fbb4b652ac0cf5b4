// What differs between kinds of devices in the compiler and its tools: one row of a table. Rows are
// values and pure functions; thread-safe. compiler/package has the rows with the code generators,
// because a server links none.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/backend/estimate.h"
#include "compiler/graph/passes/decode_weights.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::backend {

struct Backend {
  std::string_view name;    // in the text of a target and after --target: "cpu", "cuda"
  std::string_view plural;  // in messages: "CPUs"
  std::string_view device;  // "CPU"

  // In order of preference for Default. They accept workloads on targets of this kind only.
  std::span<const schedule::Family* const> (*families)();
  // The time of a kernel of one of them. REQUIRES: the target is of this kind.
  Estimate (*estimate)(const schedule::KernelFacts& facts, const target::Target& target);
  // The share of the preferred family's estimate that another family's must stay below to become
  // the default.
  double default_margin;

  // The requirements of kernels on the memory of operands.
  graph::PlaceRules rules;
  // True if images of few channels are padded.
  bool pad_channels;
  // True if attention computes causal masks instead of reading them.
  bool computes_masks;
  // The weights of few bits that products read as they are packed.
  graph::PackedReads packed_reads;
  // Logical passes that make kernels slower.
  std::span<const std::string_view> skipped_passes;
  // Fusing passes that sometimes make a model slower: the model is also tuned without each of them.
  std::span<const std::string_view> passes_apart;
  // Whether kernels of a library that takes ranges end at the rows that a run needs. Otherwise its
  // classes lie closer together.
  bool limits_rows;
  // True if the fastest kernels are timed in the whole model at the end of tuning.
  bool times_whole_models;

  // The stages of generated code that --emit prints.
  std::span<const std::string_view> code_stages;
  // Targets of devices that run a library for the target, but not each of its kernels. A kernel
  // that the first of them cannot run gets a substitute.
  std::vector<target::Target> (*other_devices)(const target::Target& target);
};

// A row for each kind of target, in the order of the kinds. If several kinds are possible, tools
// take the last one.
std::span<const Backend> Backends();
const Backend& BackendOf(const target::Target& target);

}  // namespace mlc::backend
