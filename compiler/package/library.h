// Final code generation: a program and one config per task become a library that stands alone.
// DIR gets libNAME.so, libNAME.a, NAME.h, mlc_model.h, mlc_sizes.h (if there are several sizes),
// NAME.weights (with weights in a file) and a lock file. The same program, configs and options give
// the same bytes. Files are written aside and moved in when all are complete. Not thread-safe:
// forks, so no other thread may run in this process.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/origin.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"

namespace mlc::package {

struct MergedPrograms;  // plans.h

// The kernel of one task of the program, in the order of its tasks.
struct Choice {
  schedule::Config config;
  Origin origin;
  double expected_ns = 0;  // of one execution; 0 when unknown
  std::string note;        // on the origin, for people; no lock file keeps it
  // For GPUs: of the kernel that newer ones run instead. REQUIRES: legal on a target::NewerDevices.
  std::optional<schedule::Config> substitute = std::nullopt;
};

struct LibraryOptions {
  std::string directory;
  std::string name;  // [a-z][a-z0-9_]*: names symbols and files
  bool embed_weights = true;
  int parallel = 1;       // compiler processes
  std::string cuda_home;  // where NVRTC is looked for first, for GPUs
  // Folder of a build::CubinCache, for GPUs; empty: none. One that cannot be used is no error.
  std::string cubin_cache;
};

struct LibraryReport {
  std::string shared_library;  // paths
  std::string static_library;
  int64_t weights_bytes = 0;        // prepared and raw constants
  int64_t code_bytes = 0;           // of all kernels: code, constants; for GPUs compressed
  int64_t unpacked_code_bytes = 0;  // for GPUs: the same before compression
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // shared scratch plus one thread's, or plus counters
  // For GPUs: whether it runs on newer ones too, and what they alone read of the weights.
  bool portable = true;
  int64_t substitute_weights_bytes = 0;
  // For GPUs: pieces of device code from the cache and compiled; why the cache failed.
  int64_t code_found = 0;
  int64_t code_made = 0;
  std::string cache_failure;
};

// RESOURCE_EXHAUSTED or UNWRITABLE when files cannot be written; INTERNAL naming the task when
// a kernel does not compile.
Result<LibraryReport> WriteLibrary(const graph::Program& program, std::span<const Choice> choices,
                                   const target::Target& target, const LibraryOptions& options);
// A library of several sizes.
Result<LibraryReport> WriteLibrary(const MergedPrograms& merged, const target::Target& target,
                                   const LibraryOptions& options);

// A valid library name from any text: lower case, other characters become '_'.
std::string LibraryNameFrom(std::string_view text);

}  // namespace mlc::package
