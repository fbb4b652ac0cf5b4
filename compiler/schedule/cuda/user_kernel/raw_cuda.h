// Kernels that somebody wrote by hand, as configs:
//   raw_cuda/1 blocks=4096 blocks_y=1 blocks_z=1 threads=256 threads_y=1 threads_z=1 block_bytes=0
//     entry=scale source=eJxLzs8tKEotLlbIS8xNVa...
// in one line, so that a log, a lease and a lock file hold them as they hold any config. They are
// of no family: no space has them, no search proposes them, nothing carries them over to
// other shapes or learns from their times. Only BuildKernel and the package make code of them, and
// only where allowed.
//
// The function takes the workload's operands in order, then its outputs, as pointers aligned to 16
// bytes, in the layouts of the workload, and nothing else: no scratch. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/space/family.h"
#include "compiler/target/launch.h"

namespace mlc::schedule {

struct RawCuda {
  std::string entry;        // a function extern "C" __global__ of the source
  std::string source;       // CUDA C++ in UTF-8; nothing can be included
  target::Dim3 grid = 1;    // in blocks
  target::Dim3 block = 32;  // in threads
  int64_t block_bytes = 0;  // dynamic shared memory of one block

  // INVALID_ARGUMENT with what is wrong: of PackSource, a name that is none or that the source has
  // not, a launch that no device takes.
  Result<Config> ToConfig() const;
  // INVALID_ARGUMENT for another form, or what ToConfig refuses; FAILED_PRECONDITION for a version
  // unknown here.
  static Result<RawCuda> FromConfig(const Config& config);
  friend bool operator==(const RawCuda&, const RawCuda&) = default;
};

// "raw_cuda/1": how workers and builds say that they take such kernels.
std::string RawCudaKernel();
// The same of a config's text, which may be of another version.
std::string RawCudaKernel(std::string_view config);
bool IsRawCuda(const Config& config);
// Of a config's text; cheap.
bool IsRawCuda(std::string_view config);
// INVALID_ARGUMENT if the target is none for CUDA, or a block takes more memory than it has.
Status CheckFits(const RawCuda& raw, const target::Target& target);
// What the parameters of such a kernel are.
std::vector<Binding> RawBindings(const graph::Workload& workload);
// A config's text for people's tables: without the letters of a source.
std::string BriefConfig(std::string_view config);

}  // namespace mlc::schedule
