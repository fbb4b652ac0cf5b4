// One config compiled: object bytes and everything needed to bind and run them, without the kernel
// IR. What a build child hands over. A value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/family.h"
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

struct BuiltKernel {
  std::string object;
  KernelPart kernel;
  std::vector<schedule::Binding> bindings;
  std::vector<PreparedPart> preparations;
  double build_ms = 0;
};

// Compiles a lowered kernel and its preparations into one object.
Result<BuiltKernel> Compile(const schedule::LoweredKernel& lowered, const target::Target& target);
// From texts: parse, lower, verify, compile. Runs in a build child.
Result<BuiltKernel> BuildKernel(std::string_view workload, std::string_view config,
                                const target::Target& target);

std::string Encode(const BuiltKernel& built);
// DATA_LOSS for bytes that are no BuiltKernel for this workload, for example with a binding to an
// operand that the workload does not have.
Result<BuiltKernel> Decode(std::string_view bytes, const graph::Workload& workload);

}  // namespace mlc::worker
