// Device code and the report of its compiler. Values; the functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::build {

// The resources of one function, from the compiler's log.
struct CudaResources {
  std::string function;
  int registers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t static_block_bytes = 0;
  friend bool operator==(const CudaResources&, const CudaResources&) = default;
};

struct CudaBinary {
  std::string image;  // cubin, or PTX text
  std::string log;
  std::vector<CudaResources> resources;
  // ptxas warnings, such as C7508, that mean slow code: ignored register requests, serialised
  // matrix instructions.
  std::vector<std::string> performance_warnings;
  friend bool operator==(const CudaBinary&, const CudaBinary&) = default;
};

// Fills `resources` and `performance_warnings` from `log`.
void ReadCompilerLog(CudaBinary* binary);

// OK if the compiler's log lists `entry` among the kernels; else INVALID_ARGUMENT with the list.
Status CheckEntry(const CudaBinary& binary, const std::string& entry);

// The encoding in a cache: text, then the image and a checksum. Decode(Encode(b)) == b.
std::string Encode(const CudaBinary& binary);
// DATA_LOSS for other bytes.
Result<CudaBinary> DecodeCudaBinary(std::string_view bytes);

}  // namespace mlc::build
