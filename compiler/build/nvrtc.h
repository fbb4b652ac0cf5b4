// NVIDIA's run-time compiler, opened at run time: CUDA C++ to device code. A crash or a hang of the
// compiler must not take a daemon down: call it in child processes. An object is not thread-safe;
// several may be used side by side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/base/status.h"

namespace mlc::build {

// What the compiler says of one function, from its log.
struct CudaResources {
  std::string function;
  int registers = 0;
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t static_block_bytes = 0;
};

struct CudaBinary {
  std::string image;  // cubin, or PTX text
  std::string log;
  std::vector<CudaResources> resources;
  std::vector<std::string> performance_warnings;  // codes and texts of ptxas, as in C7508
};

class Nvrtc {
 public:
  virtual ~Nvrtc() = default;
  // Looks in `cuda_home` if it is not empty, then in the usual places. NOT_FOUND says where it
  // looked and what to install.
  static Result<std::unique_ptr<Nvrtc>> Open(const std::string& cuda_home);

  // "13.0"
  virtual std::string version() const = 0;
  // arch as in target::Target::CudaArch(), for a cubin; "compute_80" and the like give PTX.
  // INVALID_ARGUMENT with the compiler's log when it refuses the source.
  virtual Result<CudaBinary> Compile(const std::string& source, const std::string& arch) = 0;
};

}  // namespace mlc::build
