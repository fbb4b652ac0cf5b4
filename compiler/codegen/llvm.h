// Kernel IR to LLVM. The only public names are plain functions on text and bytes: no LLVM header
// leaks. Symbols of a kernel NAME: NAME_p0, NAME_p1, ... one mlc_phase_fn each (runtime/abi.h).
// Explicit vectors are printed as they are; registers become SSA; index arithmetic is split so that
// the part that does not change in a loop is computed outside it. exp, tanh, erf, log, sin, cos,
// pow and sigmoid are own polynomials in vectors (error bounds in vector_math.h); kernels call no
// library. Thread-safe: every call uses its own context.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace mlc::codegen {

struct KernelLayout {
  std::vector<int64_t> phase_extents;
  int64_t workspace_bytes = 0;  // workspace of all threads
  int64_t thread_bytes = 0;     // thread scratch, of one thread
};
// Sizes a caller must provide; needs no LLVM.
KernelLayout LayoutOf(const ir::Kernel& kernel);

// A relocatable ELF object for the target (x86_64 or aarch64), deterministic byte for byte.
Result<std::string> CompileToObject(const std::vector<const ir::Kernel*>& kernels,
                                    const target::Target& target);
Result<std::string> PrintLlvm(const ir::Kernel& kernel, const target::Target& target);
Result<std::string> PrintAssembly(const ir::Kernel& kernel, const target::Target& target);

}  // namespace mlc::codegen
