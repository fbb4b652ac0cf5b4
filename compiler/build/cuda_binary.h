// Device code and what its compiler said of it. Values; the functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::build {

// What the compiler says of one function, from its log.
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
  // Codes and texts of ptxas, as in C7508, that mean slow code: ignored register requests, matrix
  // instructions made to wait.
  std::vector<std::string> performance_warnings;
  friend bool operator==(const CudaBinary&, const CudaBinary&) = default;
};

// Fills `resources` and `performance_warnings` from `log`.
void ReadCompilerLog(CudaBinary* binary);

// OK if the compiler's log names `entry` among the functions that a host can launch; else
// INVALID_ARGUMENT with those that it names.
Status CheckEntry(const CudaBinary& binary, const std::string& entry);

// The form in which a cache keeps it: text, then the image and a checksum. Decode(Encode(b)) == b.
std::string Encode(const CudaBinary& binary);
// DATA_LOSS for other bytes.
Result<CudaBinary> DecodeCudaBinary(std::string_view bytes);

}  // namespace mlc::build
