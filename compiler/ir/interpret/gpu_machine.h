// The interpreter of GPU kernels: blocks one after another, those of a cluster in turn from one
// cluster barrier to the next, the threads of a block in lockstep. Each statement runs for the
// active threads at once. Not thread-safe; borrows the kernel and the parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "compiler/ir/interpret/gpu_cluster.h"
#include "compiler/ir/interpret/gpu_expr.h"
#include "compiler/ir/interpret/gpu_matrix.h"
#include "compiler/ir/interpret/gpu_products.h"
#include "compiler/ir/interpret/gpu_roles.h"
#include "compiler/ir/interpret/gpu_state.h"
#include "compiler/ir/interpret/gpu_sync.h"
#include "compiler/ir/interpret/gpu_tile_copies.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

class GpuMachine {
 public:
  // REQUIRES: the kernel verifies, IsGpu(), and the parameters are large enough.
  GpuMachine(const Kernel& kernel, std::span<const std::span<std::byte>> params);
  GpuMachine(const GpuMachine&) = delete;
  GpuMachine& operator=(const GpuMachine&) = delete;

  Status Run();

 private:
  void RunLaunch(const For& grid);
  void StartBlock(const For& grid, const For& loop);
  // The blocks from `first` on, each up to the next cluster barrier.
  void RunCluster(const For& grid, const For& loop, int64_t first);

  void Execute(const Stmt& stmt);
  void Do(const Block& block);
  void Do(const For& loop);
  void LoopApart(const For& loop, const Lane* begin, const Lane* end);
  void Do(const If& branch);
  void Do(const Let& let);
  void Do(const Store& store);
  void StoreMemory(const Store& store, const Lane* index, const Lane* values, const Lane* mask);
  void Do(const Prefetch& prefetch);
  void Do(const RegisterTranspose&) {
  }  // REQUIRES: not reached; the verifier keeps it out of GPU kernels
  void Do(const Sync& sync) { sync_.Do(sync); }
  void Do(const CopyAsync& copy) { sync_.Do(copy); }
  void Do(const Arrive& arrive) { sync_.Do(arrive); }
  void Do(const LoadMatrix& load) { matrices_.Do(load); }
  void Do(const Unpack& unpack) { matrices_.Do(unpack); }
  void Do(const Mma& mma) { matrices_.Do(mma); }
  void Do(const WarpgroupMma& mma) { products_.Do(mma); }
  void Do(const LoadPeer& load) { cluster_.Do(load); }
  template <typename Statement>
  void Do(const Statement& statement) {
    tile_copies_.Do(statement);
  }

  GpuState state_;
  GpuExpressions expressions_;
  GpuMatrices matrices_;
  GpuProducts products_;
  GpuSync sync_;
  GpuCluster cluster_;
  GpuRoles roles_;
  GpuTileCopies tile_copies_;
};

}  // namespace mlc::ir
