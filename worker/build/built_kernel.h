// One config compiled: object bytes and everything needed to bind and run them, without the kernel
// IR. What a build child hands over. For a CUDA device the kernel itself is device code, and the
// object holds the preparations of weights alone, which run on the host. A value.
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
};

struct BuiltKernel {
  std::string object;  // may be empty with `device`
  KernelPart kernel;   // not with `device`
  std::optional<DevicePart> device;
  std::vector<schedule::Binding> bindings;
  std::vector<PreparedPart> preparations;
  double build_ms = 0;
};

// What builds for CUDA devices need besides the target. `nvrtc` may be null: then they fail.
struct CudaToolchain {
  build::Nvrtc* nvrtc = nullptr;
  target::Target host;              // where preparations run
  bool allow_user_kernels = false;  // user-supplied kernels are built, too
};

// Compiles a lowered kernel and its preparations into one object.
Result<BuiltKernel> Compile(const schedule::LoweredKernel& lowered, const target::Target& target);
// The same for a CUDA device. INVALID_ARGUMENT with the reason for a kernel that spills registers
// or that the compiler warns about: it would only waste the device's time.
Result<BuiltKernel> CompileForDevice(const schedule::LoweredKernel& lowered,
                                     const target::Target& target, const CudaToolchain& tools);
// The same for a user-supplied kernel. INVALID_ARGUMENT with the compiler's words.
Result<BuiltKernel> CompileUserKernel(const graph::Workload& workload,
                                      const schedule::Config& config, const target::Target& target,
                                      const CudaToolchain& tools);
// From texts: parse, lower, verify, compile. Runs in a build child. For a CPU; FAILED_PRECONDITION
// for a user-supplied kernel, whatever else its text says.
Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target);
// The same for a CUDA device. User-supplied kernels are refused where they are not allowed.
Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target, const CudaToolchain& tools);

std::string Encode(const BuiltKernel& built);
// DATA_LOSS for bytes that are no BuiltKernel for this workload, for example with a binding to an
// operand that the workload does not have.
Result<BuiltKernel> Decode(std::string_view bytes, const graph::Workload& workload);

}  // namespace mlc::worker
