#include "compiler/ir/build_async.h"

#include <utility>

#include "base/check.h"

namespace mlc::ir {

namespace {

template <typename Node>
StmtRef MakeStmt(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

}  // namespace

BufferId AsyncBuilder::Mbarriers(std::string name, int64_t size) {
  return kernel_.AddBuffer({std::move(name), DType::kI64, 1, size, Scope::kMbarrier});
}

void AsyncBuilder::MbarrierInit(BufferId barrier, ExprRef index, int64_t arrivals) {
  kernel_.Append(MakeStmt(ir::MbarrierInit{barrier, std::move(index), arrivals}));
}

void AsyncBuilder::MbarrierArrive(BufferId barrier, ExprRef index, int bytes) {
  kernel_.Append(MakeStmt(ir::MbarrierArrive{barrier, std::move(index), bytes}));
}

void AsyncBuilder::MbarrierArriveAt(BufferId barrier, ExprRef index, ExprRef rank) {
  kernel_.Append(MakeStmt(ir::MbarrierArrive{barrier, std::move(index), 0, std::move(rank)}));
}

void AsyncBuilder::MbarrierWait(BufferId barrier, ExprRef index, ExprRef parity) {
  kernel_.Append(MakeStmt(ir::MbarrierWait{barrier, std::move(index), std::move(parity)}));
}

void AsyncBuilder::CopyBulk(const ir::CopyBulk& copy) { kernel_.Append(MakeStmt(copy)); }
void AsyncBuilder::CopyTensor(const ir::CopyTensor& copy) { kernel_.Append(MakeStmt(copy)); }
void AsyncBuilder::SetRegisters(int count) {
  kernel_.Append(MakeStmt(Sync{SyncKind::kSetRegisters, count}));
}
void AsyncBuilder::MakeTensorMaps() { kernel_.Append(MakeStmt(Sync{SyncKind::kMakeTensorMaps})); }

void AsyncBuilder::RolesIf(ExprRef condition, const std::function<void()>& then_body,
                           const std::function<void()>& else_body) {
  MLC_CHECK((condition->type == Type{DType::kBool, 1})) << "condition of roles";
  StmtRef then_block = kernel_.Collect(then_body);
  StmtRef else_block = kernel_.Collect(else_body);
  kernel_.Append(
      MakeStmt(ir::If{std::move(condition), std::move(then_block), std::move(else_block), true}));
}

}  // namespace mlc::ir
