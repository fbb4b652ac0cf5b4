// What only GPU kernels have: threads loops, shared memory, counters and collective statements.
#include "compiler/ir/verifier.h"

namespace mlc::ir {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int kThreadsDepth = 4;  // of the statements of a threads loop

bool IsGlobal(Scope scope) {
  return scope == Scope::kIn || scope == Scope::kOut || scope == Scope::kWorkspace;
}

bool IsMatrixOperand(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

}  // namespace

Status Verifier::CheckGpuBuffers() const {
  for (size_t id = 0; id < kernel_.buffers.size(); ++id) {
    const Buffer& buffer = kernel_.buffers[id];
    const std::string what = "buffer '" + buffer.name + "'";
    const bool is_counter = buffer.scope == Scope::kCounter;
    if (!gpu_ && (is_counter || buffer.scope == Scope::kSharedMemory)) {
      return Bad(what + " is of scope " + std::string(ToText(buffer.scope)) +
                 " in a kernel without threads");
    }
    if (is_counter && buffer.dtype != DType::kI32) return Bad(what + " counts in another than i32");
    if (buffer.overlays == -1) continue;
    if (buffer.overlays < 0 || static_cast<size_t>(buffer.overlays) >= id) {
      return Bad(what + " overlays no earlier buffer");
    }
    const Buffer& base = BufferOf(buffer.overlays);
    if (buffer.scope != Scope::kSharedMemory || base.scope != Scope::kSharedMemory ||
        base.overlays != -1) {
      return Bad(what + " and '" + base.name +
                 "' under it are not a block buffer over one that overlays nothing");
    }
  }
  return {};
}

Status Verifier::CheckThreads(const For& phase) {
  const Block* body = phase.body != nullptr ? std::get_if<Block>(&phase.body->node) : nullptr;
  const bool single = body != nullptr && body->body.size() == 1 && body->body[0] != nullptr;
  threads_ = single ? std::get_if<For>(&body->body[0]->node) : nullptr;
  if (threads_ == nullptr || threads_->kind != LoopKind::kThreads) {
    return Bad("phase '" + VarName(phase.var) +
               "' is not one threads loop, as all phases of a GPU kernel are");
  }
  const int64_t count = RunsToConstant(*threads_) ? std::get<IntImm>(threads_->end->node).value : 0;
  if (count < 32 || count > kMaxThreads || count % 32 != 0) {
    return Bad("threads loop '" + VarName(threads_->var) +
               "' does not run from 0 to a multiple of 32, at most 1024");
  }
  awaits_ = 0;
  return CheckCluster(phase);
}

Status Verifier::CheckCluster(const For& phase) const {
  const int64_t blocks = std::get<IntImm>(phase.end->node).value;
  const bool fits = threads_->cluster >= 1 && threads_->cluster <= kMaxCluster;
  if (fits && blocks % threads_->cluster == 0) return {};
  return Bad("threads loop '" + VarName(threads_->var) + "' has a cluster that is not 1 to " +
             std::to_string(kMaxCluster) + " blocks and a divisor of the grid");
}

Status Verifier::CheckGpuStmt(const Stmt& stmt, int depth) {
  return std::visit(
      [&](const auto& node) -> Status {
        if constexpr (requires { this->CheckGpu(node, depth); }) {
          return CheckGpu(node, depth);
        } else {
          return Bad("a statement of an unknown kind");
        }
      },
      stmt.node);
}

Status Verifier::CheckGpu(const Sync& sync, int depth) {
  if (sync.kind == SyncKind::kClusterBarrier) {
    if (threads_->cluster == 1) return Bad("a cluster_barrier in a phase without clusters");
    if (depth != kThreadsDepth) return Bad("a cluster_barrier inside a loop or branch");
  }
  if (sync.kind == SyncKind::kAwaitInputs && ++awaits_ > 1) {
    return Bad("a phase awaits its inputs twice");
  }
  const bool counts = sync.kind == SyncKind::kWaitCopies || sync.kind == SyncKind::kWaitProducts;
  const bool pending_fits = counts ? sync.pending >= 0 : sync.pending == 0;
  return Expect(pending_fits, "a wait for a bad number of groups");
}

Status Verifier::CheckGpu(const CopyAsync& copy, int depth) {
  MLC_TRY(CheckBuffer(copy.to));
  MLC_TRY(CheckBuffer(copy.from));
  const Buffer& to = BufferOf(copy.to);
  const Buffer& from = BufferOf(copy.from);
  const std::string what = "copy of '" + from.name + "' to '" + to.name + "'";
  if (!IsGlobal(from.scope) || to.scope != Scope::kSharedMemory) {
    return Bad(what + " is not from global to shared memory");
  }
  if (to.dtype != from.dtype) return Bad(what + " changes the type");
  const int64_t bytes = copy.lanes < 1 || copy.lanes > 16 ? 0 : copy.lanes * SizeOf(to.dtype);
  if (bytes != 4 && bytes != 8 && bytes != 16) return Bad(what + " is not of 4, 8 or 16 bytes");
  MLC_TRY(CheckIndex(copy.to_index, "index of '" + to.name + "'", depth));
  MLC_TRY(CheckIndex(copy.from_index, "index of '" + from.name + "'", depth));
  if (copy.mask == nullptr) return {};
  return CheckIndex(copy.mask, "mask of '" + from.name + "'", depth);
}

Status Verifier::CheckRegister(BufferId id, const ExprRef& index, int depth) {
  MLC_TRY(CheckBuffer(id));
  const Buffer& buffer = BufferOf(id);
  if (buffer.scope != Scope::kRegister) return Bad("'" + buffer.name + "' is no register");
  return CheckAccess(buffer, index, buffer.lanes, 1, nullptr, depth);
}

Status Verifier::CheckGpu(const LoadMatrix& load, int depth) {
  MLC_TRY(CheckRegister(load.to, load.to_index, depth));
  MLC_TRY(CheckBuffer(load.from));
  const Buffer& to = BufferOf(load.to);
  const Buffer& from = BufferOf(load.from);
  const std::string what = "load_matrix of '" + from.name + "' to '" + to.name + "'";
  if (from.scope != Scope::kSharedMemory) return Bad(what + " is not from shared memory");
  const bool wide = to.dtype == DType::kF32;
  if (to.dtype != from.dtype || (SizeOf(to.dtype) != 2 && !wide)) {
    return Bad(what + " is not of a 2-byte type or f32");
  }
  if (wide && load.transposed) return Bad(what + " transposes 4-byte elements");
  const int matrices = wide ? to.lanes : to.lanes / 2;
  if ((!wide && to.lanes % 2 != 0) || (matrices != 1 && matrices != 2 && matrices != 4)) {
    return Bad(what + " needs a register of " + (wide ? "1, 2 or 4" : "2, 4 or 8") + " lanes");
  }
  return CheckIndex(load.from_index, "index of '" + from.name + "'", depth);
}

Status Verifier::CheckGpu(const LoadPeer& load, int depth) {
  MLC_TRY(CheckRegister(load.to, load.to_index, depth));
  MLC_TRY(CheckBuffer(load.from));
  const Buffer& to = BufferOf(load.to);
  const Buffer& from = BufferOf(load.from);
  const std::string what = "load_peer of '" + from.name + "' to '" + to.name + "'";
  if (threads_->cluster == 1) return Bad(what + " in a phase without clusters");
  if (from.scope != Scope::kSharedMemory) return Bad(what + " is not from shared memory");
  if (to.dtype != DType::kF32 || from.dtype != DType::kF32) return Bad(what + " is not of f32");
  MLC_TRY(CheckIndex(load.from_index, "index of '" + from.name + "'", depth));
  return CheckIndex(load.rank, "rank of '" + from.name + "'", depth);
}

Status Verifier::CheckGpu(const Mma& mma, int depth) {
  MLC_TRY(CheckRegister(mma.c, mma.c_index, depth));
  MLC_TRY(CheckRegister(mma.a, mma.a_index, depth));
  MLC_TRY(CheckRegister(mma.b, mma.b_index, depth));
  const Buffer& c = BufferOf(mma.c);
  const Buffer& a = BufferOf(mma.a);
  const Buffer& b = BufferOf(mma.b);
  const std::string what = "mma of '" + a.name + "' and '" + b.name + "' into '" + c.name + "'";
  if (c.dtype != DType::kF32 || c.lanes != 4) return Bad(what + " does not sum in f32x4");
  if (a.dtype != b.dtype || !IsMatrixOperand(a.dtype)) {
    return Bad(what + " takes two f16, bf16 or f32");
  }
  const int b_lanes = a.dtype == DType::kF32 ? 2 : 4;
  if (a.lanes != 2 * b_lanes || b.lanes % b_lanes != 0) return Bad(what + " has bad lanes");
  return Expect(mma.part >= 0 && mma.part < b.lanes / b_lanes, "an mma of a part past its operand");
}

Status Verifier::CheckGpu(const WarpgroupMma& mma, int depth) {
  MLC_TRY(CheckRegister(mma.c, mma.c_index, depth));
  MLC_TRY(CheckBuffer(mma.a));
  MLC_TRY(CheckBuffer(mma.b));
  const Buffer& c = BufferOf(mma.c);
  const Buffer& a = BufferOf(mma.a);
  const Buffer& b = BufferOf(mma.b);
  const std::string what =
      "warpgroup_mma of '" + a.name + "' and '" + b.name + "' into '" + c.name + "'";
  const bool in_registers = a.scope == Scope::kRegister;
  if ((a.scope != Scope::kSharedMemory && !in_registers) || b.scope != Scope::kSharedMemory) {
    return Bad(what + " is not from shared memory");
  }
  if (c.dtype != DType::kF32 || c.lanes != 4) return Bad(what + " does not sum in f32x4");
  if (a.dtype != b.dtype || !IsMatrixOperand(a.dtype)) {
    return Bad(what + " takes two f16, bf16 or f32");
  }
  if (in_registers && (a.dtype != DType::kF32 || a.lanes != 4)) {
    return Bad(what + " takes registers of f32x4 alone");
  }
  if (in_registers) MLC_TRY(CheckRegister(mma.a, mma.a_index, depth));
  if (mma.columns < 8 || mma.columns > 256 || mma.columns % 8 != 0) {
    return Bad(what + " is not of 8 to 256 columns by 8");
  }
  MLC_TRY(CheckIndex(mma.a_index, "index of '" + a.name + "'", depth));
  MLC_TRY(CheckIndex(mma.b_index, "index of '" + b.name + "'", depth));
  if (std::get<IntImm>(threads_->end->node).value % 128 == 0) return {};
  return Bad(what + " in a block that is not of warpgroups of 128 threads");
}

Status Verifier::CheckGpu(const Arrive& arrive, int depth) {
  MLC_TRY(CheckBuffer(arrive.counter));
  const Buffer& counter = BufferOf(arrive.counter);
  if (counter.scope != Scope::kCounter) return Bad("'" + counter.name + "' is no counter");
  if (arrive.of < 1) return Bad("an arrival at '" + counter.name + "' of less than one");
  MLC_TRY(CheckIndex(arrive.index, "index of '" + counter.name + "'", depth));
  return Bind(arrive.var, Binding::kDynamic);
}

Status Verifier::Check(const Type& type, const ShuffleXor& shuffle, int depth, bool* is_static) {
  if (type.lanes > 1) return CheckVector(type, shuffle, depth);
  if (!gpu_) return Bad("a GPU expression in a kernel without threads");
  MLC_TRY(CheckExpr(shuffle.value, depth + 1));
  if (is_static != nullptr) *is_static = false;
  const bool fits = type == Type{DType::kF32, 1} || type == Type{DType::kI32, 1};
  if (!fits || shuffle.value->type != type) return Bad("a shuffle of other than f32 or i32");
  return Expect(shuffle.lane_mask >= 1 && shuffle.lane_mask <= 31,
                "a shuffle by other than 1 to 31");
}

}  // namespace mlc::ir
