// A compiled config: object code and all data to bind and run it, without the kernel IR. Build
// children return it. For a CUDA device, the kernel is device code and the object contains only the
// preparations of weights, which run on the host. A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::worker {

struct KernelPart {
  std::string name;
  codegen::KernelLayout layout;
};

struct PreparedPart {
  KernelPart kernel;
  std::vector<int> operands;
  int64_t bytes = 0;
};

// Device code and how to launch it; see codegen/cuda/cuda.h.
struct DevicePart {
  std::string image;  // cubin
  std::vector<codegen::CudaLaunch> launches;
  int64_t workspace_bytes = 0;
  int64_t counter_bytes = 0;
  std::vector<mlc_tensor_map> tensor_maps;
};

struct BuiltKernel {
  std::string object;  // may be empty with `device`
  KernelPart kernel;   // not with `device`
  std::optional<DevicePart> device;
  std::vector<schedule::Binding> bindings;
  std::vector<PreparedPart> preparations;
  double build_ms = 0;
  bool is_c = false;  // of a C compiler: it may call functions of the C library
};

// What a build for CUDA devices needs besides the target. If `nvrtc` is null, the build fails.
struct CudaToolchain {
  build::Nvrtc* nvrtc = nullptr;
  target::Target host;              // where preparations run
  bool allow_user_kernels = false;  // also builds user-supplied kernels
};

// What a build for a CPU needs besides the target.
struct CpuToolchain {
  std::string c_compiler;  // its path; empty: the build of a user-supplied kernel fails
  std::string scratch;     // a folder for it
};

// Compiles a lowered kernel and its preparations into one object.
Result<BuiltKernel> Compile(const schedule::LoweredKernel& lowered, const target::Target& target);
// The same for a CUDA device. INVALID_ARGUMENT, with the reason, for a kernel that spills registers
// or causes a compiler warning, because its measurement would waste the device's time.
Result<BuiltKernel> CompileForDevice(const schedule::LoweredKernel& lowered,
                                     const target::Target& target, const CudaToolchain& tools);
// The same for a user-supplied kernel. INVALID_ARGUMENT with the compiler's message.
Result<BuiltKernel> CompileUserKernel(const graph::Workload& workload,
                                      const schedule::Config& config, const target::Target& target,
                                      const CudaToolchain& tools);
// The same for a kernel in C, with the C compiler.
Result<BuiltKernel> CompileCKernel(const graph::Workload& workload, const schedule::Config& config,
                                   const target::Target& target, const CpuToolchain& tools);
// Parses, lowers, verifies and compiles a config for a CPU. Runs in a build child.
// FAILED_PRECONDITION for a user-supplied kernel if `tools` have no C compiler.
Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target, const CpuToolchain& tools = {});
// The same for a CUDA device. FAILED_PRECONDITION for a user-supplied kernel if `tools` does not
// allow them.
Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target, const CudaToolchain& tools);

std::string Encode(const BuiltKernel& built);
// DATA_LOSS if the bytes are not a BuiltKernel for this workload, for example if a binding names an
// operand that the workload does not have.
Result<BuiltKernel> Decode(std::string_view bytes, const graph::Workload& workload);

}  // namespace mlc::worker
