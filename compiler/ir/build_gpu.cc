// The builder's part for GPU kernels.
#include <utility>

#include "base/check.h"
#include "compiler/ir/build.h"

namespace mlc::ir {

namespace {

template <typename Node>
StmtRef MakeStmt(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

}  // namespace

BufferId KernelBuilder::Counter(std::string name, int64_t size) {
  return AddBuffer({std::move(name), DType::kI32, 1, size, Scope::kCounter});
}

BufferId KernelBuilder::SharedMemory(std::string name, DType dtype, int64_t size,
                                     BufferId overlays) {
  return AddBuffer({std::move(name), dtype, 1, size, Scope::kSharedMemory, overlays});
}

void KernelBuilder::Launch(int64_t blocks, int threads, int per_sm,
                           const std::function<void(ExprRef block, ExprRef thread)>& body,
                           int cluster) {
  MLC_CHECK(threads > 0 && threads % 32 == 0 && threads <= 1024) << threads << " threads";
  MLC_CHECK(cluster > 0 && blocks % cluster == 0) << blocks << " blocks by " << cluster;
  Parallel("block_index", blocks, [&](const ExprRef& block) {
    const VarId id = NewVar("thread_index");
    StmtRef inner = Collect([&] { body(block, VarExpr(id)); });
    Append(MakeStmt(ir::For{id, Int(0), Int(threads), 1, LoopKind::kThreads, std::move(inner),
                            per_sm, cluster}));
  });
}

void KernelBuilder::Barrier() { Append(MakeStmt(Sync{SyncKind::kBarrier})); }
void KernelBuilder::WarpBarrier() { Append(MakeStmt(Sync{SyncKind::kWarpBarrier})); }
void KernelBuilder::CommitCopies() { Append(MakeStmt(Sync{SyncKind::kCommitCopies})); }
void KernelBuilder::WaitCopies(int pending) {
  Append(MakeStmt(Sync{SyncKind::kWaitCopies, pending}));
}
void KernelBuilder::AwaitInputs() { Append(MakeStmt(Sync{SyncKind::kAwaitInputs})); }
void KernelBuilder::ReleaseDependents() { Append(MakeStmt(Sync{SyncKind::kReleaseDependents})); }
void KernelBuilder::ClusterBarrier() { Append(MakeStmt(Sync{SyncKind::kClusterBarrier})); }

void KernelBuilder::CopyAsync(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index,
                              int lanes, ExprRef mask) {
  Append(MakeStmt(
      ir::CopyAsync{to, std::move(to_index), from, std::move(from_index), lanes, std::move(mask)}));
}

void KernelBuilder::LoadMatrix(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index,
                               bool transposed) {
  Append(
      MakeStmt(ir::LoadMatrix{to, std::move(to_index), from, std::move(from_index), transposed}));
}

void KernelBuilder::LoadPeer(BufferId to, ExprRef to_index, BufferId from, ExprRef from_index,
                             ExprRef rank) {
  Append(MakeStmt(
      ir::LoadPeer{to, std::move(to_index), from, std::move(from_index), std::move(rank)}));
}

void KernelBuilder::Unpack(ir::Unpack unpack) { Append(MakeStmt(std::move(unpack))); }

void KernelBuilder::Mma(BufferId c, ExprRef c_index, BufferId a, ExprRef a_index, BufferId b,
                        ExprRef b_index, int part) {
  Append(
      MakeStmt(ir::Mma{c, std::move(c_index), a, std::move(a_index), b, std::move(b_index), part}));
}

void KernelBuilder::FenceTiles() { Append(MakeStmt(Sync{SyncKind::kFenceTiles})); }
void KernelBuilder::WaitProducts(int pending) {
  Append(MakeStmt(Sync{SyncKind::kWaitProducts, pending}));
}
void KernelBuilder::WarpgroupMma(BufferId c, ExprRef c_index, BufferId a, ExprRef a_index,
                                 BufferId b, ExprRef b_index, int columns, bool adds, int across) {
  Append(MakeStmt(ir::WarpgroupMma{c, std::move(c_index), a, std::move(a_index), b,
                                   std::move(b_index), columns, adds, across}));
}

ExprRef KernelBuilder::Arrive(std::string var, BufferId counter, ExprRef index, int64_t of) {
  const VarId id = NewVar(std::move(var));
  Append(MakeStmt(ir::Arrive{id, counter, std::move(index), of}));
  return VarExpr(id);
}

void KernelBuilder::Approximate() { kernel_.approximate = true; }

}  // namespace mlc::ir
