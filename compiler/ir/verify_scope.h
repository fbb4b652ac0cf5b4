// The scope of verification: the buffers of the kernel, and the variables bound at the current
// place. Errors are INVALID_ARGUMENT. Not thread-safe; borrows the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

inline bool IsConstantIndex(const ExprRef& e) {
  return IsIndex(e) && std::holds_alternative<IntImm>(e->node);
}
// True for a loop from 0 to a constant by 1.
bool RunsToConstant(const For& loop);

class VerifyScope {
 public:
  // kDynamic and kStatic (known once unrolled loops are expanded) are in scope; kClosed has been.
  enum class Binding : uint8_t { kUnbound, kDynamic, kStatic, kClosed };

  explicit VerifyScope(const Kernel& kernel)
      : kernel_(kernel), gpu_(kernel.IsGpu()), state_(kernel.vars.size(), Binding::kUnbound) {}

  const Kernel& kernel() const { return kernel_; }
  bool gpu() const { return gpu_; }
  const Buffer& BufferOf(BufferId id) const { return kernel_.buffers[static_cast<size_t>(id)]; }
  const std::string& VarName(VarId id) const { return kernel_.vars[static_cast<size_t>(id)]; }

  Status Bad(const std::string& what) const {
    return InvalidArgument("kernel '" + kernel_.name + "': " + what);
  }
  Status Expect(bool condition, const char* what) const { return condition ? Status() : Bad(what); }
  Status CheckNames() const;
  Status CheckBuffer(BufferId id) const;

  Status Bind(VarId var, Binding binding);
  // The binding of a variable in scope.
  Result<Binding> Find(VarId var) const;
  size_t Mark() const { return bound_.size(); }
  void CloseTo(size_t mark);  // all variables bound since

 private:
  const Kernel& kernel_;
  const bool gpu_;
  std::vector<Binding> state_;
  std::vector<VarId> bound_;
};

}  // namespace mlc::ir
