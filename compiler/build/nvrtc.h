// NVIDIA's run-time compiler, opened at run time: CUDA C++ to device code. A crash or a hang of the
// compiler must not take a daemon down: call it in child processes, which may share an object
// opened before the fork. An object is not thread-safe; several may be used side by side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/cuda_binary.h"

namespace mlc::build {

class Nvrtc {
 public:
  virtual ~Nvrtc() = default;
  // Looks in `cuda_home` if it is not empty (a toolkit, or a folder of unpacked Python wheels),
  // then in the usual places. NOT_FOUND says where it looked and what to install.
  static Result<std::unique_ptr<Nvrtc>> Open(const std::string& cuda_home);

  // "13.0"
  virtual std::string version() const = 0;
  // The file that was opened.
  virtual std::string path() const = 0;
  // The options of every compilation besides the architecture, for keys of caches.
  virtual std::string options() const = 0;
  // arch as in target::Target::CudaArch(), for a cubin; "compute_80" and the like give PTX.
  // INVALID_ARGUMENT with the compiler's log when it refuses the source; RESOURCE_EXHAUSTED when it
  // runs out of memory; INTERNAL when it fails otherwise. No entry of `resources` for PTX.
  virtual Result<CudaBinary> Compile(const std::string& source, const std::string& arch) = 0;
};

// Makes the compiler open what it opens for its first compilation: before a fork into sandboxed
// children, which open nothing.
Status WarmUp(Nvrtc& nvrtc);

}  // namespace mlc::build
