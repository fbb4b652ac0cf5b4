#include "compiler/ir/interpret/machine.h"

#include <algorithm>

#include "compiler/ir/types.h"

namespace mlc::ir {

Machine::Machine(const Kernel& kernel, std::span<const std::span<std::byte>> params, int64_t limit)
    : kernel_(kernel), vars_(kernel.vars.size()) {
  if (kernel.limit >= 0) vars_[static_cast<size_t>(kernel.limit)] = limit;
  memories_.reserve(kernel.buffers.size());
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    memories_.emplace_back(kernel.buffers[i],
                           i < params.size() ? params[i] : std::span<std::byte>());
  }
}

Status Machine::Run() {
  for (const StmtRef& phase : kernel_.phases) {
    RunPhase(std::get<For>(phase->node));
    if (failed_) return error_;
  }
  return {};
}

void Machine::RunPhase(const For& loop) {
  phase_ = &loop;
  base_ = now_ + 1;
  const int64_t extent = std::get<IntImm>(loop.end->node).value;
  if (extent > int64_t{UINT32_MAX} - 2 - base_) {
    return Fail(StatusCode::kResourceExhausted, "has too many parallel iterations to interpret");
  }
  now_ = base_;
  for (int64_t i = 0; i < extent && !failed_; ++i) {
    ++now_;
    vars_[static_cast<size_t>(loop.var)] = i;
    Execute(*loop.body);
  }
}

void Machine::Execute(const Stmt& stmt) {
  std::visit([this](const auto& node) { Do(node); }, stmt.node);
}

void Machine::Do(const Block& block) {
  for (const StmtRef& stmt : block.body) {
    if (failed_) return;
    Execute(*stmt);
  }
}

void Machine::Do(const For& loop) {
  const int64_t end = Index(loop.end);
  int64_t& var = vars_[static_cast<size_t>(loop.var)];
  for (int64_t i = Index(loop.begin); i < end && !failed_;) {
    var = i;
    Execute(*loop.body);
    if (__builtin_add_overflow(i, loop.step, &i)) return;
  }
}

void Machine::Do(const If& branch) {
  const bool taken = Scalar(*branch.condition).i != 0;
  if (failed_) return;
  if (taken) {
    Execute(*branch.then_body);
  } else if (branch.else_body != nullptr) {
    Execute(*branch.else_body);
  }
}

void Machine::Do(const Let& let) { vars_[static_cast<size_t>(let.var)] = Index(let.value); }

void Machine::Do(const Store& store) {
  Memory& memory = memories_[static_cast<size_t>(store.buffer)];
  Lane values[kMaxLanes];
  const int lanes = store.value->type.lanes;
  const int64_t index = Index(store.index);
  Vector(*store.value, values);
  const int active = ActiveLanes(store.mask, lanes);
  if (failed_) return;
  if (memory.buffer().scope == Scope::kRegister) {
    const Fault fault = memory.WriteRegister(index, now_, values);
    if (fault != Fault::kNone) FailAccess(fault, "write", memory.buffer(), index);
    return;
  }
  if (store.streaming && store.stride == 1 && index % lanes != 0) {
    return Fail(StatusCode::kFailedPrecondition, "streams a vector to '" + memory.buffer().name +
                                                     "[" + std::to_string(index) +
                                                     "]', which is not aligned to it");
  }
  for (int lane = 0; lane < active; ++lane) {
    const int64_t at = LaneAddress(index, lane, store.stride);
    const Fault fault = memory.Write(at, now_, base_, values[lane]);
    if (fault != Fault::kNone) return FailAccess(fault, "write", memory.buffer(), at);
  }
}

void Machine::Do(const Prefetch& prefetch) { Index(prefetch.index); }

void Machine::Do(const RegisterTranspose& transpose) {
  Memory& memory = memories_[static_cast<size_t>(transpose.registers)];
  const int lanes = memory.buffer().lanes;
  const int64_t first = Index(transpose.index);
  Lane square[kMaxLanes][kMaxLanes];
  for (int i = 0; i < lanes && !failed_; ++i) {
    const int64_t at = LaneAddress(first, i, 1);
    const Fault fault = memory.ReadRegister(at, now_, square[i]);
    if (fault != Fault::kNone) FailAccess(fault, "read", memory.buffer(), at);
  }
  for (int i = 0; i < lanes && !failed_; ++i) {
    Lane column[kMaxLanes];
    for (int j = 0; j < lanes; ++j) column[j] = square[j][i];
    memory.WriteRegister(first + i, now_, column);
  }
}

int Machine::ActiveLanes(const ExprRef& mask, int lanes) {
  if (mask == nullptr) return lanes;
  return static_cast<int>(std::clamp<int64_t>(Index(mask), 0, lanes));
}

void Machine::Fail(StatusCode code, const std::string& what) {
  if (failed_) return;
  failed_ = true;
  std::string text = "kernel '" + kernel_.name + "' " + what;
  if (now_ > base_) {
    text += ", in iteration " + std::to_string(now_ - base_ - 1);
    text += " of '" + kernel_.vars[static_cast<size_t>(phase_->var)] + "'";
  }
  error_ = Status(code, std::move(text));
}

void Machine::FailAccess(Fault fault, const char* what, const Buffer& buffer, int64_t index) {
  const std::string element = "'" + buffer.name + "[" + std::to_string(index) + "]'";
  const std::string access = std::string(what) + "s " + element;
  switch (fault) {
    case Fault::kNone:
      return;
    case Fault::kBounds:
      return Fail(StatusCode::kOutOfRange,
                  access + " outside its " + std::to_string(buffer.size) + " elements");
    case Fault::kUninitialised:
      return Fail(StatusCode::kFailedPrecondition, access + ", which was never written");
    case Fault::kRace:
      return Fail(StatusCode::kAborted, access + " in a race with another iteration");
  }
}

}  // namespace mlc::ir
