// The interpreter of GPU kernels: blocks one after another, those of a cluster in turn from one
// cluster barrier to the next, the threads of a block in lockstep.
// Each statement runs for the active threads at once, so that expressions are arrays over them
// (thread by thread, then lane by lane). Not thread-safe; borrows the kernel and the parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/ir/interpret/gpu_clock.h"
#include "compiler/ir/interpret/gpu_copies.h"
#include "compiler/ir/interpret/gpu_memory.h"
#include "compiler/ir/interpret/gpu_private.h"
#include "compiler/ir/interpret/lane_array.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

class GpuMachine {
 public:
  // REQUIRES: the kernel verifies, IsGpu(), and the parameters are large enough.
  GpuMachine(const Kernel& kernel, std::span<const std::span<std::byte>> params);

  Status Run();

 private:
  // The arrivals at one counter since it was zero, and what the blocks had done before.
  struct Round {
    int64_t arrived = 0;
    std::vector<GpuClock::Span> seen;
  };

  // One that is under way: places in the buffers of the statement.
  struct Product {
    const WarpgroupMma* mma;
    int64_t c, a, b;
  };

  // A block of a cluster while it does not run.
  struct WaitingBlock {
    std::vector<std::unique_ptr<GpuMemory>> memories;  // null where not of a block
    std::vector<std::unique_ptr<GpuPrivate>> privates;
    std::vector<GpuCopies> copies;
    std::vector<std::deque<Product>> products;
    std::set<int> unfenced;
    std::vector<int64_t> vars;
    GpuClock::Place place;
  };

  // clusters (gpu_cluster.cc)
  void MakeCluster(int blocks);
  // Changes places with the block of rank rank_.
  void Swap();
  void StartBlock(const For& grid, const For& loop);
  void RunCluster(const For& grid, const For& loop, int64_t first);
  void Do(const LoadPeer& load);

  // statements (gpu_machine.cc)
  std::unique_ptr<GpuMemory> MakeMemory(size_t buffer, std::span<std::byte> param,
                                        std::span<const std::unique_ptr<GpuMemory>> others);
  void RunLaunch(const For& grid);
  void CheckCounters();
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
  // synchronisation (gpu_sync.cc)
  void Do(const Sync& sync);
  void Do(const CopyAsync& copy);
  void Do(const Arrive& arrive);
  void CopyOne(const CopyAsync& copy, int thread, int64_t to, int64_t from, int active);
  // Whether whole warps, or the whole block, are active; fails otherwise.
  bool AllOfWarps(const char* what);
  bool AllOfBlock(const char* what);
  // matrices (gpu_matrix.cc)
  void Do(const LoadMatrix& load);
  bool ReadRows(const LoadMatrix& load, size_t first, const Lane* index, int rows, Lane* values);
  void Do(const Mma& mma);
  // The operands' registers of each active thread.
  bool Operand(BufferId id, const ExprRef& index, Lane* values);
  // products of groups of threads (gpu_products.cc)
  bool AllOfWarpgroups(const char* what);
  void Do(const WarpgroupMma& mma);
  void Begin(const WarpgroupMma& mma, int thread, int64_t c, int64_t a, int64_t b);
  // Ends all products of the active groups but the last `pending` of each.
  void LandProducts(int pending);
  void Land(const Product& product, int thread);
  void EndProducts();  // of the block
  bool ReadRows(const WarpgroupMma& mma, int64_t at, int thread, std::vector<double>* values);
  bool ReadTile(BufferId id, int64_t at, int rows, int thread, std::vector<double>* values);

  // expressions (gpu_expr.cc): an array of Count() times the type's lanes
  void Eval(const Expr& e, Lane* out);
  void Node(const Type& type, const IntImm& constant, Lane* out);
  void Node(const Type& type, const FloatImm& constant, Lane* out);
  void Node(const Type& type, const VarRef& ref, Lane* out);
  void Node(const Type& type, const Load& load, Lane* out);
  void Node(const Type& type, const Apply& apply, Lane* out);
  void Node(const Type& type, const Cast& cast, Lane* out);
  void Node(const Type& type, const Broadcast& broadcast, Lane* out);
  void Node(const Type& type, const ReduceLanes& reduce, Lane* out);
  void Node(const Type& type, const LaneMask& mask, Lane* out);
  void Node(const Type& type, const LaneIndex& index, Lane* out);
  void Node(const Type& type, const ShuffleXor& shuffle, Lane* out);
  // Null for a missing mask.
  Lane* EvalMask(const ExprRef& mask, LaneStack::Frame& frame);
  static int ActiveLanes(const Lane* mask, size_t at, int lanes);

  // One thread's access to its own memory; false after a fault.
  bool ReadPrivate(GpuPrivate& from, int64_t index, int thread, Lane* values);
  bool WritePrivate(GpuPrivate& to, int64_t index, int thread, const Lane* values);

  size_t Count() const { return active_.size(); }
  GpuPrivate* PrivateOf(BufferId id) { return privates_[static_cast<size_t>(id)].get(); }
  GpuMemory& MemoryOf(BufferId id) { return *memories_[static_cast<size_t>(id)]; }
  int64_t* VarOf(VarId id) { return vars_.data() + static_cast<size_t>(id) * max_threads_; }
  // `thread` -1: of the block as a whole.
  void Fail(StatusCode code, const std::string& what, int thread);
  void FailAccess(GpuFault fault, const char* verb, const Buffer& buffer, int64_t index,
                  int thread);

  const Kernel& kernel_;
  GpuClock clock_;
  size_t max_threads_ = 0;
  int threads_ = 0;                                    // of the current launch
  std::vector<std::unique_ptr<GpuMemory>> memories_;   // by buffer, null where private
  std::vector<std::unique_ptr<GpuPrivate>> privates_;  // by buffer, null where not
  std::map<std::pair<BufferId, int64_t>, Round> rounds_;
  std::vector<GpuCopies> copies_;              // by thread
  std::vector<std::deque<Product>> products_;  // by group, in order
  std::set<int> unfenced_;     // threads that wrote shared memory since their fence_tiles
  std::vector<int64_t> vars_;  // by variable, then thread
  std::vector<int> active_;    // threads, in order
  LaneStack stack_;
  std::vector<WaitingBlock> cluster_;  // by rank; empty without clusters
  int rank_ = 0;                       // of the running block in its cluster
  int cluster_size_ = 1;               // of the current launch
  bool last_part_ = false;             // no cluster barrier lies ahead
  int64_t launch_ = -1;
  int64_t block_ = -1;
  bool failed_ = false;
  Status error_;
};

}  // namespace mlc::ir
