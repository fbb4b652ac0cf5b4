#include "compiler/codegen/emit_kernel.h"

#include "compiler/codegen/convert.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"

namespace mlc::codegen {

using llvm::BasicBlock;
using llvm::Value;

PhaseEmitter::PhaseEmitter(const ir::Kernel& kernel, const Features& features,
                           llvm::IRBuilderBase& builder, llvm::Function& function)
    : kernel_(kernel),
      features_(features),
      b_(builder),
      function_(function),
      pool_(builder),
      memory_(kernel, features, builder, function, pool_),
      vars_(kernel.vars.size()) {}

void PhaseEmitter::Fail(const std::string& message) {
  if (status_.ok()) status_ = InvalidArgument("kernel " + kernel_.name + ": " + message);
}

Status PhaseEmitter::Emit(const ir::For& phase) {
  BasicBlock* entry = BasicBlock::Create(b_.getContext(), "entry", &function_);
  b_.SetInsertPoint(entry);
  memory_.Begin();
  pool_.OpenScope();
  if (kernel_.limit >= 0) {
    vars_[static_cast<size_t>(kernel_.limit)] = pool_.AtScopeStart(memory_.limit());
  }
  const Affine begin = EvalIndex(phase.begin);
  const Affine step = Constant(phase.step);
  // The caller counts iterations from 0; the variable starts at `begin` and goes by `step`.
  Value* first = b_.CreateMul(function_.getArg(1), pool_.ValueOf(step));
  Value* last = b_.CreateMul(function_.getArg(2), pool_.ValueOf(step));
  Value* origin = pool_.ValueOf(begin);
  EmitLoop(phase.var, b_.CreateAdd(first, origin), b_.CreateAdd(last, origin), phase.step,
           /*runs_at_least_once=*/false, phase.body);
  b_.CreateRetVoid();
  pool_.CloseScope();
  return status_;
}

void PhaseEmitter::EmitStmt(const ir::StmtRef& stmt) {
  values_.clear();
  indices_.clear();
  if (!status_.ok()) return;
  if (const auto* block = std::get_if<ir::Block>(&stmt->node)) {
    for (const ir::StmtRef& inner : block->body) EmitStmt(inner);
  } else if (const auto* loop = std::get_if<ir::For>(&stmt->node)) {
    EmitFor(*loop);
  } else if (const auto* branch = std::get_if<ir::If>(&stmt->node)) {
    EmitIf(*branch);
  } else if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
    vars_[static_cast<size_t>(let->var)] = EvalIndex(let->value);
  } else if (const auto* store = std::get_if<ir::Store>(&stmt->node)) {
    EmitStore(*store);
  } else if (const auto* prefetch = std::get_if<ir::Prefetch>(&stmt->node)) {
    EmitPrefetch(*prefetch);
  } else if (const auto* transpose = std::get_if<ir::RegisterTranspose>(&stmt->node)) {
    EmitRegisterTranspose(*transpose);
  } else {
    Fail("a GPU statement has no form on a CPU");
  }
}

void PhaseEmitter::EmitUnrolled(const ir::For& loop) {
  const Affine begin = EvalIndex(loop.begin);
  const Affine end = EvalIndex(loop.end);
  if (!begin.IsConstant() || !end.IsConstant()) {
    return Fail("an unrolled loop needs constant bounds");
  }
  for (int64_t i = begin.constant; i < end.constant; i += loop.step) {
    vars_[static_cast<size_t>(loop.var)] = Constant(i);
    EmitStmt(loop.body);
  }
}

void PhaseEmitter::EmitFor(const ir::For& loop) {
  if (loop.step <= 0) return Fail("a loop step must be positive");
  if (loop.kind == ir::LoopKind::kUnrolled) return EmitUnrolled(loop);
  const Affine begin = EvalIndex(loop.begin);
  const Affine end = EvalIndex(loop.end);
  const Affine length = Sum(end, Scaled(begin, -1));
  if (length.IsConstant() && length.constant <= 0) return;
  const bool runs = length.IsConstant();
  EmitLoop(loop.var, pool_.ValueOf(begin), pool_.ValueOf(end), loop.step, runs, loop.body);
}

// Tested at the bottom: one block per innermost loop.
void PhaseEmitter::EmitLoop(ir::VarId var, Value* begin, Value* end, int64_t step,
                            bool runs_at_least_once, const ir::StmtRef& body) {
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(b_.getContext(), "loop", &function_);
  BasicBlock* exit = BasicBlock::Create(b_.getContext(), "exit", &function_);
  if (runs_at_least_once) {
    b_.CreateBr(loop);
  } else {
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, exit);
  }
  b_.SetInsertPoint(loop);
  llvm::PHINode* phi = b_.CreatePHI(b_.getInt64Ty(), 2);
  phi->addIncoming(begin, before);
  pool_.OpenScope();
  vars_[static_cast<size_t>(var)] = pool_.AtScopeStart(phi);
  EmitStmt(body);
  pool_.CloseScope();
  Value* next = b_.CreateAdd(phi, b_.getInt64(static_cast<uint64_t>(step)), "", false, true);
  phi->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, exit);
  exit->moveAfter(b_.GetInsertBlock());
  b_.SetInsertPoint(exit);
}

void PhaseEmitter::EmitBranch(BasicBlock* block, BasicBlock* after, const ir::StmtRef& body) {
  b_.SetInsertPoint(block);
  pool_.OpenScope();
  EmitStmt(body);
  pool_.CloseScope();
  b_.CreateBr(after);
}

void PhaseEmitter::EmitIf(const ir::If& branch) {
  Value* condition = Eval(branch.condition);
  if (!status_.ok()) return;
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    const ir::StmtRef& taken = known->isZero() ? branch.else_body : branch.then_body;
    if (taken != nullptr) EmitStmt(taken);
    return;
  }
  BasicBlock* then_block = BasicBlock::Create(b_.getContext(), "then", &function_);
  BasicBlock* after = BasicBlock::Create(b_.getContext(), "after", &function_);
  BasicBlock* else_block = after;
  if (branch.else_body != nullptr) {
    else_block = BasicBlock::Create(b_.getContext(), "else", &function_);
  }
  b_.CreateCondBr(condition, then_block, else_block);
  EmitBranch(then_block, after, branch.then_body);
  if (branch.else_body != nullptr) EmitBranch(else_block, after, branch.else_body);
  after->moveAfter(&function_.back());
  b_.SetInsertPoint(after);
}

llvm::AllocaInst* PhaseEmitter::RegisterAt(ir::BufferId buffer, const ir::ExprRef& index) {
  return RegisterAt(buffer, EvalIndex(index));
}

llvm::AllocaInst* PhaseEmitter::RegisterAt(ir::BufferId buffer, const Affine& at) {
  const ir::Buffer& registers = kernel_.buffers[static_cast<size_t>(buffer)];
  if (!at.IsConstant() || at.constant < 0 || at.constant >= registers.size) {
    Fail("the index of register " + registers.name + " is not a constant in range");
    return nullptr;
  }
  llvm::AllocaInst*& slot = by_register_[{buffer, at.constant}];
  if (slot == nullptr) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(&function_.getEntryBlock(), function_.getEntryBlock().begin());
    slot = b_.CreateAlloca(RegisterType(b_.getContext(), registers.dtype, registers.lanes));
    allocas_.push_back(slot);
  }
  return slot;
}

void PhaseEmitter::EmitStore(const ir::Store& store) {
  Value* value = Eval(store.value);
  if (!status_.ok()) return;
  const ir::Buffer& buffer = kernel_.buffers[static_cast<size_t>(store.buffer)];
  const ir::Type type = store.value->type;
  if (buffer.scope == ir::Scope::kRegister) {
    llvm::AllocaInst* slot = RegisterAt(store.buffer, store.index);
    if (slot == nullptr) return;
    if (slot->getAllocatedType() != value->getType()) {
      return Fail("a value of another type is stored to register " + buffer.name);
    }
    b_.CreateStore(value, slot);
    return;
  }
  if (type.dtype == DType::kBool) {
    value = b_.CreateZExt(value, MemoryType(b_.getContext(), type.dtype, type.lanes));
  }
  Access access{store.buffer, EvalIndex(store.index), store.stride, type.lanes, {}, false};
  if (store.mask != nullptr) {
    access.active = EvalIndex(store.mask);
    access.masked = true;
  }
  memory_.Store(access, value, store.streaming);
}

void PhaseEmitter::EmitPrefetch(const ir::Prefetch& prefetch) {
  const Affine index = EvalIndex(prefetch.index);
  Value* address = memory_.AddressOf(prefetch.buffer, index);
  const int locality = prefetch.level == 1 ? 3 : 2;
  b_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {b_.getPtrTy()},
      {address, b_.getInt32(0), b_.getInt32(static_cast<uint32_t>(locality)), b_.getInt32(1)});
}

// Blocks of `apart` lanes change places across the diagonal, for every power of two. Each shuffle
// is one instruction of two registers: vpermt2 on AVX-512, unpack, blend or permute on AVX2, trn on
// NEON.
void PhaseEmitter::EmitRegisterTranspose(const ir::RegisterTranspose& transpose) {
  const int lanes = kernel_.buffers[static_cast<size_t>(transpose.registers)].lanes;
  const Affine first = EvalIndex(transpose.index);
  std::vector<llvm::AllocaInst*> slots;
  std::vector<Value*> rows;
  for (int i = 0; i < lanes; ++i) {
    slots.push_back(RegisterAt(transpose.registers, Sum(first, Constant(i))));
    if (slots.back() == nullptr) return;
    rows.push_back(b_.CreateLoad(slots.back()->getAllocatedType(), slots.back()));
  }
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
    std::vector<int> upper(static_cast<size_t>(lanes)), lower(upper);
    for (int lane = 0; lane < lanes; ++lane) {
      const bool kept = (lane & apart) == 0;  // of the upper row
      upper[static_cast<size_t>(lane)] = kept ? lane : lanes + lane - apart;
      lower[static_cast<size_t>(lane)] = kept ? lane + apart : lanes + lane;
    }
    for (int i = 0; i < lanes; ++i) {
      if ((i & apart) != 0) continue;
      Value*& a = rows[static_cast<size_t>(i)];
      Value*& b = rows[static_cast<size_t>(i + apart)];
      Value* const above = b_.CreateShuffleVector(a, b, upper);
      b = b_.CreateShuffleVector(a, b, lower);
      a = above;
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) b_.CreateStore(rows[i], slots[i]);
}

}  // namespace mlc::codegen
