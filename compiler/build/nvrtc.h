// NVRTC, NVIDIA's run-time compiler, loaded at run time: CUDA C++ to device code. The compiler may
// crash or hang, so call it in child processes; they may share an object that was opened before the
// fork. An object is not thread-safe; several objects may be used in parallel.
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
  // Searches `cuda_home` if it is not empty (a toolkit, or a folder of unpacked Python wheels),
  // then the usual places. NOT_FOUND says where it searched and what to install.
  static Result<std::unique_ptr<Nvrtc>> Open(const std::string& cuda_home);

  // "13.0"
  virtual std::string version() const = 0;
  // The file that was opened.
  virtual std::string path() const = 0;
  // The options of every compilation besides the architecture, for keys of caches.
  virtual std::string options() const = 0;
  // Compiles for `arch`: a value of target::Target::CudaArch() gives a cubin; "compute_80" and the
  // like give PTX, without `resources`. INVALID_ARGUMENT with the compiler's log if it rejects the
  // source; RESOURCE_EXHAUSTED if it runs out of memory; INTERNAL for other failures.
  virtual Result<CudaBinary> Compile(const std::string& source, const std::string& arch) = 0;
};

// Makes the compiler open the files of its first compilation. Call it before a fork into sandboxed
// children, which cannot open files.
Status WarmUp(Nvrtc& nvrtc);

}  // namespace mlc::build
