#include "compiler/ir/verifier.h"

#include <string>

namespace mlc::ir {

Status Verifier::Run() {
  MLC_TRY(scope_.CheckNames());
  MLC_TRY(gpu_.CheckBuffers());
  if (scope_.kernel().limit >= 0) {
    if (scope_.gpu()) return scope_.Bad("a kernel for GPUs has a limit");
    MLC_TRY(scope_.Bind(scope_.kernel().limit, VerifyScope::Binding::kDynamic));
  }
  for (const StmtRef& phase : scope_.kernel().phases) {
    const For* loop = std::get_if<For>(&phase->node);
    if (loop == nullptr || loop->kind != LoopKind::kParallel) {
      return scope_.Bad("a phase is no parallel loop");
    }
    if (!RunsToConstant(*loop)) {
      return scope_.Bad("phase '" + scope_.VarName(loop->var) +
                        "' does not run from 0 to a constant");
    }
    if (scope_.gpu()) MLC_TRY(gpu_.CheckThreads(*loop));
    MLC_TRY(CheckLoop(*loop, 0));
  }
  return {};
}

Status Verifier::CheckBody(const StmtRef& body, int depth) {
  if (body == nullptr) return scope_.Bad("a loop or branch without body");
  if (depth > kMaxDepth) return scope_.Bad("nested too deeply");
  const size_t mark = scope_.Mark();
  MLC_TRY(CheckStmt(*body, depth));
  scope_.CloseTo(mark);
  return {};
}

Status Verifier::CheckStmt(const Stmt& stmt, int depth) {
  if (const Block* block = std::get_if<Block>(&stmt.node)) return CheckBlock(*block, depth);
  if (const For* loop = std::get_if<For>(&stmt.node)) return CheckInnerLoop(*loop, depth);
  if (const If* branch = std::get_if<If>(&stmt.node)) return CheckIf(*branch, depth);
  if (const Let* let = std::get_if<Let>(&stmt.node)) {
    bool is_static = true;
    MLC_TRY(expressions_.CheckIndex(let->value, "value of a let", depth, &is_static));
    return scope_.Bind(let->var,
                       is_static ? VerifyScope::Binding::kStatic : VerifyScope::Binding::kDynamic);
  }
  if (const Store* store = std::get_if<Store>(&stmt.node)) return CheckStore(*store, depth);
  if (const Prefetch* prefetch = std::get_if<Prefetch>(&stmt.node)) {
    return CheckPrefetch(*prefetch, depth);
  }
  if (const RegisterTranspose* transpose = std::get_if<RegisterTranspose>(&stmt.node))
    return CheckRegisterTranspose(*transpose, depth);
  if (!scope_.gpu()) return scope_.Bad("a GPU statement in a kernel without threads");
  return gpu_.CheckStmt(stmt, depth);
}

Status Verifier::CheckBlock(const Block& block, int depth) {
  if (depth > kMaxDepth) return scope_.Bad("nested too deeply");
  for (const StmtRef& s : block.body) {
    if (s == nullptr) return scope_.Bad("an empty statement");
    MLC_TRY(CheckStmt(*s, depth + 1));
  }
  return {};
}

Status Verifier::CheckInnerLoop(const For& loop, int depth) {
  if (loop.kind == LoopKind::kParallel) {
    return scope_.Bad("parallel loop '" + scope_.VarName(loop.var) + "' is nested");
  }
  if (loop.kind == LoopKind::kThreads && !gpu_.IsThreadsLoop(loop)) {
    return scope_.Bad("threads loop '" + scope_.VarName(loop.var) +
                      "' is not the whole body of a phase");
  }
  return CheckLoop(loop, depth);
}

Status Verifier::CheckPrefetch(const Prefetch& prefetch, int depth) {
  MLC_TRY(scope_.CheckBuffer(prefetch.buffer));
  const Buffer& buffer = scope_.BufferOf(prefetch.buffer);
  const bool in_memory = buffer.scope != Scope::kRegister && buffer.scope != Scope::kCounter &&
                         buffer.scope != Scope::kSharedMemory && buffer.scope != Scope::kMbarrier;
  if (!in_memory || prefetch.level < 1 || prefetch.level > 2) {
    return scope_.Bad("prefetch of '" + buffer.name + "' is not from memory to level 1 or 2");
  }
  return expressions_.CheckIndex(prefetch.index, "index of '" + buffer.name + "'", depth);
}

Status Verifier::CheckRegisterTranspose(const RegisterTranspose& transpose, int depth) {
  if (scope_.gpu()) return scope_.Bad("a turn in a kernel of threads");
  MLC_TRY(expressions_.CheckRegister(transpose.registers, transpose.index, depth));
  const Buffer& square = scope_.BufferOf(transpose.registers);
  if (square.lanes > 1 && (square.lanes & (square.lanes - 1)) == 0) return {};
  return scope_.Bad("turn of '" + square.name + "', whose lanes are no power of two above 1");
}

Status Verifier::CheckLoop(const For& loop, int depth) {
  bool is_static = true;
  MLC_TRY(expressions_.CheckIndex(loop.begin, "begin of a loop", depth, &is_static));
  MLC_TRY(expressions_.CheckIndex(loop.end, "end of a loop", depth, &is_static));
  const size_t mark = scope_.Mark();
  const bool unrolled = loop.kind == LoopKind::kUnrolled;
  MLC_TRY(scope_.Bind(loop.var,
                      unrolled ? VerifyScope::Binding::kStatic : VerifyScope::Binding::kDynamic));
  if (loop.per_sm < 0 || loop.per_sm > 32 ||
      (loop.per_sm != 0 && loop.kind != LoopKind::kThreads)) {
    return scope_.Bad("loop '" + scope_.VarName(loop.var) +
                      "' has a per_sm that is not 1 to 32 of threads");
  }
  if (loop.cluster != 1 && loop.kind != LoopKind::kThreads) {
    return scope_.Bad("loop '" + scope_.VarName(loop.var) + "' has a cluster, but no threads");
  }
  if (loop.step < 1)
    return scope_.Bad("loop '" + scope_.VarName(loop.var) + "' has a step below 1");
  if (unrolled && !is_static) {
    return scope_.Bad("unrolled loop '" + scope_.VarName(loop.var) +
                      "' has bounds that are not constant");
  }
  MLC_TRY(CheckBody(loop.body, depth + 1));
  scope_.CloseTo(mark);
  return {};
}

Status Verifier::CheckIf(const If& branch, int depth) {
  if (branch.roles) MLC_TRY(gpu_.EnterRoles(depth));
  MLC_TRY(expressions_.CheckExpr(branch.condition, depth));
  if (branch.condition->type != Type{DType::kBool, 1}) return scope_.Bad("a condition is no bool");
  MLC_TRY(CheckBody(branch.then_body, depth + 1));
  if (branch.else_body != nullptr) MLC_TRY(CheckBody(branch.else_body, depth + 1));
  if (branch.roles) gpu_.LeaveRoles();
  return {};
}

Status Verifier::CheckStore(const Store& store, int depth) {
  MLC_TRY(scope_.CheckBuffer(store.buffer));
  const Buffer& buffer = scope_.BufferOf(store.buffer);
  if (buffer.scope == Scope::kIn) return scope_.Bad("store to input '" + buffer.name + "'");
  MLC_TRY(expressions_.CheckExpr(store.value, depth));
  if (store.value->type.dtype != buffer.dtype) {
    return scope_.Bad("store of " + std::string(ToText(store.value->type.dtype)) + " to '" +
                      buffer.name + "'");
  }
  return expressions_.CheckAccess(buffer, store.index, store.value->type.lanes, store.stride,
                                  store.mask, depth);
}

Status Kernel::Verify() const { return Verifier(*this).Run(); }

}  // namespace mlc::ir
