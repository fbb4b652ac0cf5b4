// The rules of a well-formed kernel; what Kernel::Verify runs. Statements and buffers stand in
// verify.cc, expressions in verify_expr.cc, what only GPU kernels have in verify_gpu.cc. Errors are
// INVALID_ARGUMENT and name the first offender. Not thread-safe; borrows the kernel; serves once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), gpu_(kernel.IsGpu()), state_(kernel.vars.size(), Binding::kUnbound) {}

  Status Run();

 private:
  // kDynamic and kStatic (known once unrolled loops are expanded) are in scope; kClosed has been.
  enum class Binding : uint8_t { kUnbound, kDynamic, kStatic, kClosed };

  Status Bad(const std::string& what) const {
    return InvalidArgument("kernel '" + kernel_.name + "': " + what);
  }
  Status Expect(bool condition, const char* what) const { return condition ? Status() : Bad(what); }
  const Buffer& BufferOf(BufferId id) const { return kernel_.buffers[static_cast<size_t>(id)]; }
  const std::string& VarName(VarId id) const { return kernel_.vars[static_cast<size_t>(id)]; }
  static bool IsConstant(const ExprRef& e) {
    return IsIndex(e) && std::holds_alternative<IntImm>(e->node);
  }
  static bool RunsToConstant(const For& loop);  // from 0, by 1

  Status CheckNames() const;
  Status Bind(VarId var, Binding binding);
  void CloseTo(size_t mark);

  Status CheckBody(const StmtRef& body, int depth);
  Status CheckStmt(const Stmt& stmt, int depth);
  Status CheckLoop(const For& loop, int depth);
  Status CheckIf(const If& branch, int depth);
  Status CheckStore(const Store& store, int depth);
  Status CheckPrefetch(const Prefetch& prefetch, int depth);
  Status CheckRegisterTranspose(const RegisterTranspose& transpose, int depth);
  Status CheckBuffer(BufferId id) const;
  Status CheckAccess(const Buffer& buffer, const ExprRef& index, int lanes, int64_t stride,
                     const ExprRef& mask, int depth);

  // GPU kernels. CheckThreads: the phase's body is one threads loop, which it keeps.
  Status CheckGpuBuffers() const;
  Status CheckThreads(const For& phase);
  Status CheckCluster(const For& phase) const;
  Status CheckGpuStmt(const Stmt& stmt, int depth);
  Status CheckGpu(const Sync& sync, int depth);
  Status CheckGpu(const CopyAsync& copy, int depth);
  Status CheckGpu(const LoadMatrix& load, int depth);
  Status CheckGpu(const LoadPeer& load, int depth);
  Status CheckGpu(const Mma& mma, int depth);
  Status CheckGpu(const WarpgroupMma& mma, int depth);
  Status CheckGpu(const Arrive& arrive, int depth);
  // A register buffer with an index known once unrolled loops are expanded.
  Status CheckRegister(BufferId id, const ExprRef& index, int depth);

  // An i64 scalar. Clears *is_static unless the value is known once unrolled loops are expanded.
  Status CheckIndex(const ExprRef& e, const std::string& what, int depth,
                    bool* is_static = nullptr);
  Status CheckExpr(const ExprRef& e, int depth, bool* is_static = nullptr);
  Status Check(const Type& type, const IntImm& constant, int depth, bool* is_static);
  Status Check(const Type& type, const FloatImm& constant, int depth, bool* is_static);
  Status Check(const Type& type, const VarRef& ref, int depth, bool* is_static);
  Status Check(const Type& type, const Load& load, int depth, bool* is_static);
  Status Check(const Type& type, const Apply& apply, int depth, bool* is_static);
  Status Check(const Type& type, const Cast& cast, int depth, bool* is_static);
  Status Check(const Type& type, const Broadcast& broadcast, int depth, bool* is_static);
  Status Check(const Type& type, const ReduceLanes& reduce, int depth, bool* is_static);
  Status Check(const Type& type, const LaneMask& mask, int depth, bool* is_static);
  Status Check(const Type& type, const LaneIndex& index, int depth, bool* is_static);
  Status Check(const Type& type, const ShuffleXor& shuffle, int depth, bool* is_static);
  Status CheckVector(const Type& type, const ShuffleXor& shuffle, int depth);

  const Kernel& kernel_;
  const bool gpu_;
  std::vector<Binding> state_;
  std::vector<VarId> bound_;
  const For* threads_ = nullptr;  // of the current phase
  int awaits_ = 0;                // in the current phase
};

}  // namespace mlc::ir
