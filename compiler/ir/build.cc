#include "compiler/ir/build.h"

#include <utility>

#include "base/check.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

template <typename Node>
StmtRef MakeStmt(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

}  // namespace

KernelBuilder::KernelBuilder(std::string name) : open_(1) {
  MLC_CHECK(IsName(name)) << "kernel name '" << name << "'";
  kernel_.name = std::move(name);
}

std::string KernelBuilder::Unique(std::string name) {
  MLC_CHECK(IsName(name)) << "name '" << name << "'";
  if (names_.insert(name).second) return name;
  int& suffix = suffixes_[name];
  name += '_';
  while (true) {
    std::string unique = name + std::to_string(++suffix);
    if (names_.insert(unique).second) return unique;
  }
}

BufferId KernelBuilder::AddBuffer(Buffer buffer) {
  const bool is_param = buffer.scope == Scope::kIn || buffer.scope == Scope::kOut;
  MLC_CHECK(!is_param || kernel_.NumParams() == static_cast<int>(kernel_.buffers.size()))
      << "parameter '" << buffer.name << "' after scratch";
  MLC_CHECK(buffer.size >= 0 && buffer.size <= kMaxBufferSize && IsLanes(buffer.lanes))
      << "size of buffer '" << buffer.name << "'";
  buffer.name = Unique(std::move(buffer.name));
  kernel_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(kernel_.buffers.size() - 1);
}

BufferId KernelBuilder::In(std::string name, DType dtype, int64_t size) {
  return AddBuffer({std::move(name), dtype, 1, size, Scope::kIn});
}
BufferId KernelBuilder::Out(std::string name, DType dtype, int64_t size) {
  return AddBuffer({std::move(name), dtype, 1, size, Scope::kOut});
}
BufferId KernelBuilder::Workspace(std::string name, DType dtype, int64_t size) {
  return AddBuffer({std::move(name), dtype, 1, size, Scope::kWorkspace});
}
BufferId KernelBuilder::Thread(std::string name, DType dtype, int64_t size) {
  return AddBuffer({std::move(name), dtype, 1, size, Scope::kThread});
}
BufferId KernelBuilder::Registers(std::string name, DType dtype, int lanes, int64_t count) {
  return AddBuffer({std::move(name), dtype, lanes, count, Scope::kRegister});
}

VarId KernelBuilder::NewVar(std::string name) {
  kernel_.vars.push_back(Unique(std::move(name)));
  return static_cast<VarId>(kernel_.vars.size() - 1);
}

void KernelBuilder::Append(StmtRef stmt) {
  MLC_CHECK(open_.size() > 1) << "statement outside of a parallel loop";
  open_.back().push_back(std::move(stmt));
}

StmtRef KernelBuilder::Collect(const std::function<void()>& body) {
  open_.emplace_back();
  body();
  Block block{std::move(open_.back())};
  open_.pop_back();
  return MakeStmt(std::move(block));
}

ExprRef KernelBuilder::VarExpr(VarId var) {
  return std::make_shared<const Expr>(Expr{Type{DType::kI64, 1}, VarRef{var}});
}

void KernelBuilder::Parallel(std::string var, int64_t extent, const Body& body) {
  MLC_CHECK(open_.size() == 1) << "parallel loop '" << var << "' inside another loop";
  if (extent <= 0) return;
  const VarId id = NewVar(std::move(var));
  StmtRef block = Collect([&] { body(VarExpr(id)); });
  open_.back().push_back(
      MakeStmt(ir::For{id, Int(0), Int(extent), 1, LoopKind::kParallel, std::move(block)}));
}

void KernelBuilder::Loop(std::string var, ExprRef begin, ExprRef end, int64_t step, LoopKind kind,
                         const Body& body) {
  MLC_CHECK(IsIndex(begin) && IsIndex(end) && step >= 1) << "bounds of loop '" << var << "'";
  int64_t first = 0, past = 0;
  if (IsConstInt(begin, &first) && IsConstInt(end, &past)) {
    if (past <= first) return;
    if (past - first <= step) return body(begin);
  }
  const VarId id = NewVar(std::move(var));
  StmtRef block = Collect([&] { body(VarExpr(id)); });
  Append(MakeStmt(ir::For{id, std::move(begin), std::move(end), step, kind, std::move(block)}));
}

void KernelBuilder::For(std::string var, ExprRef begin, ExprRef end, int64_t step,
                        const Body& body) {
  Loop(std::move(var), std::move(begin), std::move(end), step, LoopKind::kSerial, body);
}
void KernelBuilder::For(std::string var, int64_t extent, const Body& body) {
  Loop(std::move(var), Int(0), Int(extent), 1, LoopKind::kSerial, body);
}
void KernelBuilder::Unrolled(std::string var, int64_t extent, const Body& body) {
  Loop(std::move(var), Int(0), Int(extent), 1, LoopKind::kUnrolled, body);
}

void KernelBuilder::If(ExprRef condition, const std::function<void()>& then_body,
                       const std::function<void()>& else_body) {
  MLC_CHECK((condition->type == Type{DType::kBool, 1})) << "condition of an if";
  int64_t value = 0;
  if (IsConstInt(condition, &value)) {
    if (value != 0) return then_body();
    if (else_body) else_body();
    return;
  }
  StmtRef then_block = Collect(then_body);
  StmtRef else_block = else_body ? Collect(else_body) : nullptr;
  Append(MakeStmt(ir::If{std::move(condition), std::move(then_block), std::move(else_block)}));
}

ExprRef KernelBuilder::Let(std::string name, ExprRef value) {
  MLC_CHECK(IsIndex(value)) << "let '" << name << "' is no index";
  if (std::holds_alternative<IntImm>(value->node) || std::holds_alternative<VarRef>(value->node)) {
    return value;
  }
  const VarId id = NewVar(std::move(name));
  Append(MakeStmt(ir::Let{id, std::move(value)}));
  return VarExpr(id);
}

ExprRef KernelBuilder::Load(BufferId buffer, ExprRef index, int lanes, int64_t stride,
                            ExprRef mask) {
  const Buffer& from = kernel_.buffers.at(static_cast<size_t>(buffer));
  MLC_CHECK(IsIndex(index) && (mask == nullptr || IsIndex(mask))) << "load of " << from.name;
  MLC_CHECK(IsLanes(lanes) && from.scope != Scope::kRegister) << "load of " << from.name;
  return std::make_shared<const Expr>(
      Expr{Type{from.dtype, lanes}, ir::Load{buffer, std::move(index), stride, std::move(mask)}});
}

void KernelBuilder::Store(BufferId buffer, ExprRef index, ExprRef value, int64_t stride,
                          ExprRef mask, bool streaming) {
  const Buffer& to = kernel_.buffers.at(static_cast<size_t>(buffer));
  MLC_CHECK(IsIndex(index) && (mask == nullptr || IsIndex(mask))) << "store to " << to.name;
  MLC_CHECK(value->type.dtype == to.dtype)
      << "store of " << ToText(value->type.dtype) << " to " << to.name;
  MLC_CHECK(to.scope != Scope::kIn && to.scope != Scope::kRegister) << "store to " << to.name;
  Append(MakeStmt(
      ir::Store{buffer, std::move(index), std::move(value), stride, std::move(mask), streaming}));
}

ExprRef KernelBuilder::Get(BufferId registers, ExprRef index) {
  const Buffer& from = kernel_.buffers.at(static_cast<size_t>(registers));
  MLC_CHECK(from.scope == Scope::kRegister && IsIndex(index)) << "get of " << from.name;
  return std::make_shared<const Expr>(
      Expr{Type{from.dtype, from.lanes}, ir::Load{registers, std::move(index), 1, nullptr}});
}

void KernelBuilder::Set(BufferId registers, ExprRef index, ExprRef value) {
  const Buffer& to = kernel_.buffers.at(static_cast<size_t>(registers));
  MLC_CHECK(to.scope == Scope::kRegister && IsIndex(index)) << "set of " << to.name;
  MLC_CHECK((value->type == Type{to.dtype, to.lanes})) << "value of register " << to.name;
  Append(MakeStmt(ir::Store{registers, std::move(index), std::move(value), 1, nullptr, false}));
}

void KernelBuilder::Prefetch(BufferId buffer, ExprRef index, int level) {
  const Buffer& from = kernel_.buffers.at(static_cast<size_t>(buffer));
  MLC_CHECK(from.scope != Scope::kRegister && IsIndex(index) && (level == 1 || level == 2))
      << "prefetch of " << from.name;
  Append(MakeStmt(ir::Prefetch{buffer, std::move(index), level}));
}

void KernelBuilder::TransposeRegisters(BufferId registers, ExprRef index) {
  const Buffer& square = kernel_.buffers.at(static_cast<size_t>(registers));
  MLC_CHECK(square.scope == Scope::kRegister && IsIndex(index)) << "turn of " << square.name;
  Append(MakeStmt(ir::RegisterTranspose{registers, std::move(index)}));
}

Kernel KernelBuilder::Finish() {
  MLC_CHECK(open_.size() == 1) << "a block is still open";
  kernel_.phases = std::move(open_.front());
  open_.assign(1, {});
  return std::move(kernel_);
}

}  // namespace mlc::ir
