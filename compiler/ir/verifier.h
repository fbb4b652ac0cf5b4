// Kernel::Verify: the rules of a well-formed kernel, for phases and statements of all kernels.
// Errors are INVALID_ARGUMENT and name the first offender. Not thread-safe; borrows the kernel; use
// it once.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/ir/verify_expr.h"
#include "compiler/ir/verify_gpu.h"
#include "compiler/ir/verify_scope.h"

namespace mlc::ir {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : scope_(kernel), expressions_(scope_), gpu_(scope_, expressions_) {}
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  Status Run();

 private:
  Status CheckBody(const StmtRef& body, int depth);
  Status CheckStmt(const Stmt& stmt, int depth);
  Status CheckBlock(const Block& block, int depth);
  Status CheckInnerLoop(const For& loop, int depth);
  Status CheckLoop(const For& loop, int depth);
  Status CheckIf(const If& branch, int depth);
  Status CheckStore(const Store& store, int depth);
  Status CheckPrefetch(const Prefetch& prefetch, int depth);
  Status CheckRegisterTranspose(const RegisterTranspose& transpose, int depth);

  VerifyScope scope_;
  ExpressionVerifier expressions_;
  GpuVerifier gpu_;
};

}  // namespace mlc::ir
