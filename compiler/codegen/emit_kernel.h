// One phase of a kernel as an LLVM function. Registers are one alloca per element, promoted to SSA
// by the caller; unrolled loops are expanded; indices go through an IndexPool. An expression used
// twice in one statement (the same ExprRef) is computed once. Not thread-safe; one emitter per
// function; borrows everything it is given.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/affine.h"
#include "compiler/codegen/emit_memory.h"
#include "compiler/codegen/features.h"
#include "compiler/ir/ir.h"

namespace llvm {
class AllocaInst;
class BasicBlock;
class Function;
}  // namespace llvm

namespace mlc::codegen {

class PhaseEmitter {
 public:
  PhaseEmitter(const ir::Kernel& kernel, const Features& features, llvm::IRBuilderBase& builder,
               llvm::Function& function);
  PhaseEmitter(const PhaseEmitter&) = delete;
  PhaseEmitter& operator=(const PhaseEmitter&) = delete;

  // Fills the function. INVALID_ARGUMENT for IR that cannot be printed (see ir::Kernel::Verify).
  Status Emit(const ir::For& phase);
  const std::vector<llvm::AllocaInst*>& registers() const { return allocas_; }

 private:
  // emit_kernel.cc: statements.
  void EmitStmt(const ir::StmtRef& stmt);
  void EmitUnrolled(const ir::For& loop);
  void EmitLoop(ir::VarId var, llvm::Value* begin, llvm::Value* end, int64_t step,
                bool runs_at_least_once, const ir::StmtRef& body);
  void EmitFor(const ir::For& loop);
  void EmitIf(const ir::If& branch);
  void EmitBranch(llvm::BasicBlock* block, llvm::BasicBlock* after, const ir::StmtRef& body);
  void EmitStore(const ir::Store& store);
  void EmitPrefetch(const ir::Prefetch& prefetch);
  void EmitRegisterTranspose(const ir::RegisterTranspose& transpose);
  // The alloca of a register; null after Fail when its index is not a constant in range.
  llvm::AllocaInst* RegisterAt(ir::BufferId buffer, const ir::ExprRef& index);
  llvm::AllocaInst* RegisterAt(ir::BufferId buffer, const Affine& at);

  // emit_expr.cc: expressions.
  llvm::Value* Eval(const ir::ExprRef& expr);
  llvm::Value* EvalNode(const ir::Expr& expr);
  llvm::Value* EvalApply(const ir::Expr& expr, const ir::Apply& apply);
  llvm::Value* EvalReduce(const ir::ReduceLanes& reduce);
  llvm::Value* EvalLoad(const ir::Expr& expr, const ir::Load& load);
  Affine EvalIndex(const ir::ExprRef& expr);
  Affine EvalIndexNode(const ir::ExprRef& expr);
  llvm::Value* Zero(DType dtype, int lanes);

  void Fail(const std::string& message);

  const ir::Kernel& kernel_;
  const Features& features_;
  llvm::IRBuilderBase& b_;
  llvm::Function& function_;
  IndexPool pool_;
  MemoryEmitter memory_;
  Status status_;
  std::map<std::pair<int, int64_t>, llvm::AllocaInst*> by_register_;
  std::vector<llvm::AllocaInst*> allocas_;
  std::vector<Affine> vars_;                                  // by VarId
  std::unordered_map<const ir::Expr*, llvm::Value*> values_;  // of the current statement
  std::unordered_map<const ir::Expr*, Affine> indices_;       // of the current statement
};

}  // namespace mlc::codegen
