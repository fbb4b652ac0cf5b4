// The rules that only apply to GPU kernels: threads loops, shared memory, counters and collective
// statements. Not thread-safe; borrows the scope and the expressions.
#pragma once

#include "compiler/ir/verify_async.h"
#include "compiler/ir/verify_expr.h"
#include "compiler/ir/verify_scope.h"

namespace mlc::ir {

class GpuVerifier {
 public:
  GpuVerifier(VerifyScope& scope, const ExpressionVerifier& expressions)
      : scope_(scope), expressions_(expressions), async_(scope, expressions) {}

  // Checks the buffers of any kernel.
  Status CheckBuffers() const;
  // Checks that the phase's body is one threads loop, and stores it.
  Status CheckThreads(const For& phase);
  bool IsThreadsLoop(const For& loop) const { return &loop == threads_; }
  // A statement that only GPU kernels have.
  Status CheckStmt(const Stmt& stmt, int depth);
  // The branches of a roles if follow.
  Status EnterRoles(int depth);
  void LeaveRoles() { in_roles_ = false; }

 private:
  Status CheckCluster(const For& phase) const;
  // Null, or which blocks of the cluster.
  Status CheckRanks(const ExprRef& ranks, const char* what, int depth) const;
  Status Check(const Sync& sync, int depth);
  Status Check(const CopyAsync& copy, int depth) const;
  Status Check(const LoadMatrix& load, int depth) const;
  Status Check(const LoadPeer& load, int depth) const;
  Status Check(const Unpack& unpack, int depth) const;
  Status Check(const Mma& mma, int depth) const;
  Status Check(const WarpgroupMma& mma, int depth) const;
  Status Check(const Arrive& arrive, int depth);

  VerifyScope& scope_;
  const ExpressionVerifier& expressions_;
  const AsyncVerifier async_;
  const For* threads_ = nullptr;  // of the current phase
  int awaits_ = 0;                // in the current phase
  bool in_roles_ = false;
};

}  // namespace mlc::ir
