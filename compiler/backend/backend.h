// What the compiler and its tools do differently for one kind of device: one row of a table. Rows
// are values and pure functions; thread-safe. What a row generates code with is the row of
// compiler/package, since a server links no code generator.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/backend/estimate.h"
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
  // Of the preferred family's estimate, what another's has to stay below to be the default.
  double default_margin;

  // What kernels ask of the places of operands.
  graph::PlaceRules rules;
  // Whether images of few channels are padded.
  bool pad_channels;
  // Logical passes that make kernels slower.
  std::span<const std::string_view> skipped_passes;
  // Fusing passes that sometimes make a model slower: it is tuned without each of them, too.
  std::span<const std::string_view> passes_apart;
  // Whether the end of a tuning times the fastest kernels in the whole model.
  bool times_whole_models;

  // The stages of generated code that --emit prints.
  std::span<const std::string_view> code_stages;
  // Devices that run a library for the target, too, but not each of its kernels, as targets: a
  // kernel that the first ones cannot run gets a substitute.
  std::vector<target::Target> (*other_devices)(const target::Target& target);
};

// A row for each kind of target, in the order of the kinds. Where several kinds of device would do,
// tools take the last one.
std::span<const Backend> Backends();
const Backend& BackendOf(const target::Target& target);

}  // namespace mlc::backend
