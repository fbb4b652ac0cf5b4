// Kernels, buffers and the statements that every kernel may have.
#include <set>

#include "compiler/ir/verifier.h"

namespace mlc::ir {

Status Verifier::Run() {
  MLC_TRY(CheckNames());
  MLC_TRY(CheckGpuBuffers());
  for (const StmtRef& phase : kernel_.phases) {
    const For* loop = std::get_if<For>(&phase->node);
    if (loop == nullptr || loop->kind != LoopKind::kParallel) {
      return Bad("a phase is no parallel loop");
    }
    if (!RunsToConstant(*loop)) {
      return Bad("phase '" + VarName(loop->var) + "' does not run from 0 to a constant");
    }
    if (gpu_) MLC_TRY(CheckThreads(*loop));
    MLC_TRY(CheckLoop(*loop, 0));
  }
  return {};
}

bool Verifier::RunsToConstant(const For& loop) {
  return loop.step == 1 && IsConstant(loop.begin) && IsConstant(loop.end) &&
         std::get<IntImm>(loop.begin->node).value == 0;
}

Status Verifier::CheckNames() const {
  if (!IsName(kernel_.name)) return Bad("the name is not [a-z_][a-z0-9_]*");
  std::set<std::string_view> seen;
  bool scratch = false;
  for (const Buffer& buffer : kernel_.buffers) {
    const bool is_param = buffer.scope == Scope::kIn || buffer.scope == Scope::kOut;
    const std::string what = "buffer '" + buffer.name + "'";
    if (!IsName(buffer.name)) return Bad(what + " has no valid name");
    if (!seen.insert(buffer.name).second) return Bad(what + " is declared twice");
    if (is_param && scratch) return Bad(what + " is a parameter after scratch buffers");
    if (buffer.size < 0 || buffer.size > kMaxBufferSize) return Bad(what + " has a bad size");
    if (!IsLanes(buffer.lanes) || (buffer.lanes > 1 && buffer.scope != Scope::kRegister)) {
      return Bad(what + " has bad lanes");
    }
    scratch |= !is_param;
  }
  for (const std::string& var : kernel_.vars) {
    if (!IsName(var)) return Bad("variable '" + var + "' has no valid name");
    if (!seen.insert(var).second) return Bad("variable '" + var + "' is declared twice");
  }
  return {};
}

Status Verifier::Bind(VarId var, Binding binding) {
  if (var < 0 || static_cast<size_t>(var) >= state_.size()) return Bad("unknown variable");
  Binding& state = state_[static_cast<size_t>(var)];
  if (state != Binding::kUnbound) return Bad("variable '" + VarName(var) + "' is bound twice");
  state = binding;
  bound_.push_back(var);
  return {};
}

void Verifier::CloseTo(size_t mark) {
  for (; bound_.size() > mark; bound_.pop_back()) {
    state_[static_cast<size_t>(bound_.back())] = Binding::kClosed;
  }
}

Status Verifier::CheckBody(const StmtRef& body, int depth) {
  if (body == nullptr) return Bad("a loop or branch without body");
  if (depth > kMaxDepth) return Bad("nested too deeply");
  const size_t mark = bound_.size();
  MLC_TRY(CheckStmt(*body, depth));
  CloseTo(mark);
  return {};
}

Status Verifier::CheckStmt(const Stmt& stmt, int depth) {
  if (const Block* block = std::get_if<Block>(&stmt.node)) {
    if (depth > kMaxDepth) return Bad("nested too deeply");
    for (const StmtRef& s : block->body) {
      if (s == nullptr) return Bad("an empty statement");
      MLC_TRY(CheckStmt(*s, depth + 1));
    }
    return {};
  }
  if (const For* loop = std::get_if<For>(&stmt.node)) {
    if (loop->kind == LoopKind::kParallel) {
      return Bad("parallel loop '" + VarName(loop->var) + "' is nested");
    }
    if (loop->kind == LoopKind::kThreads && loop != threads_) {
      return Bad("threads loop '" + VarName(loop->var) + "' is not the whole body of a phase");
    }
    return CheckLoop(*loop, depth);
  }
  if (const If* branch = std::get_if<If>(&stmt.node)) return CheckIf(*branch, depth);
  if (const Let* let = std::get_if<Let>(&stmt.node)) {
    bool is_static = true;
    MLC_TRY(CheckIndex(let->value, "value of a let", depth, &is_static));
    return Bind(let->var, is_static ? Binding::kStatic : Binding::kDynamic);
  }
  if (const Store* store = std::get_if<Store>(&stmt.node)) return CheckStore(*store, depth);
  if (const Prefetch* prefetch = std::get_if<Prefetch>(&stmt.node)) {
    return CheckPrefetch(*prefetch, depth);
  }
  if (const RegisterTranspose* transpose = std::get_if<RegisterTranspose>(&stmt.node))
    return CheckRegisterTranspose(*transpose, depth);
  if (!gpu_) return Bad("a GPU statement in a kernel without threads");
  return CheckGpuStmt(stmt, depth);
}

Status Verifier::CheckPrefetch(const Prefetch& prefetch, int depth) {
  MLC_TRY(CheckBuffer(prefetch.buffer));
  const Buffer& buffer = BufferOf(prefetch.buffer);
  const bool in_memory = buffer.scope != Scope::kRegister && buffer.scope != Scope::kCounter &&
                         buffer.scope != Scope::kSharedMemory;
  if (!in_memory || prefetch.level < 1 || prefetch.level > 2) {
    return Bad("prefetch of '" + buffer.name + "' is not from memory to level 1 or 2");
  }
  return CheckIndex(prefetch.index, "index of '" + buffer.name + "'", depth);
}

Status Verifier::CheckRegisterTranspose(const RegisterTranspose& transpose, int depth) {
  if (gpu_) return Bad("a turn in a kernel of threads");
  MLC_TRY(CheckRegister(transpose.registers, transpose.index, depth));
  const Buffer& square = BufferOf(transpose.registers);
  if (square.lanes > 1 && (square.lanes & (square.lanes - 1)) == 0) return {};
  return Bad("turn of '" + square.name + "', whose lanes are no power of two above 1");
}

Status Verifier::CheckLoop(const For& loop, int depth) {
  bool is_static = true;
  MLC_TRY(CheckIndex(loop.begin, "begin of a loop", depth, &is_static));
  MLC_TRY(CheckIndex(loop.end, "end of a loop", depth, &is_static));
  const size_t mark = bound_.size();
  const bool unrolled = loop.kind == LoopKind::kUnrolled;
  MLC_TRY(Bind(loop.var, unrolled ? Binding::kStatic : Binding::kDynamic));
  if (loop.per_sm < 0 || loop.per_sm > 32 ||
      (loop.per_sm != 0 && loop.kind != LoopKind::kThreads)) {
    return Bad("loop '" + VarName(loop.var) + "' has a per_sm that is not 1 to 32 of threads");
  }
  if (loop.cluster != 1 && loop.kind != LoopKind::kThreads) {
    return Bad("loop '" + VarName(loop.var) + "' has a cluster, but no threads");
  }
  if (loop.step < 1) return Bad("loop '" + VarName(loop.var) + "' has a step below 1");
  if (unrolled && !is_static) {
    return Bad("unrolled loop '" + VarName(loop.var) + "' has bounds that are not constant");
  }
  MLC_TRY(CheckBody(loop.body, depth + 1));
  CloseTo(mark);
  return {};
}

Status Verifier::CheckIf(const If& branch, int depth) {
  MLC_TRY(CheckExpr(branch.condition, depth));
  if (branch.condition->type != Type{DType::kBool, 1}) return Bad("a condition is no bool");
  MLC_TRY(CheckBody(branch.then_body, depth + 1));
  if (branch.else_body == nullptr) return {};
  return CheckBody(branch.else_body, depth + 1);
}

Status Verifier::CheckStore(const Store& store, int depth) {
  MLC_TRY(CheckBuffer(store.buffer));
  const Buffer& buffer = BufferOf(store.buffer);
  if (buffer.scope == Scope::kIn) return Bad("store to input '" + buffer.name + "'");
  MLC_TRY(CheckExpr(store.value, depth));
  if (store.value->type.dtype != buffer.dtype) {
    return Bad("store of " + std::string(ToText(store.value->type.dtype)) + " to '" + buffer.name +
               "'");
  }
  return CheckAccess(buffer, store.index, store.value->type.lanes, store.stride, store.mask, depth);
}

Status Verifier::CheckBuffer(BufferId id) const {
  if (id < 0 || static_cast<size_t>(id) >= kernel_.buffers.size()) return Bad("unknown buffer");
  return {};
}

Status Verifier::CheckAccess(const Buffer& buffer, const ExprRef& index, int lanes, int64_t stride,
                             const ExprRef& mask, int depth) {
  if (buffer.scope == Scope::kCounter) {
    return Bad("counter '" + buffer.name + "' is touched by other than arrive");
  }
  bool is_static = true;
  MLC_TRY(CheckIndex(index, "index of '" + buffer.name + "'", depth, &is_static));
  if (mask != nullptr) MLC_TRY(CheckIndex(mask, "mask of '" + buffer.name + "'", depth));
  if (stride < -kMaxBufferSize || stride > kMaxBufferSize) {
    return Bad("stride of '" + buffer.name + "' is out of range");
  }
  if (buffer.scope != Scope::kRegister) return {};
  if (!is_static) return Bad("register '" + buffer.name + "' has an index that is not constant");
  if (lanes != buffer.lanes || stride != 1 || mask != nullptr) {
    return Bad("register '" + buffer.name + "' is not accessed whole");
  }
  return {};
}

Status Kernel::Verify() const { return Verifier(*this).Run(); }

}  // namespace mlc::ir
