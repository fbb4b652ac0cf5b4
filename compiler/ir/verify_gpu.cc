#include "compiler/ir/verify_gpu.h"

#include <string>

#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int kAcrossStep = 512;  // elements of 2 bytes between addresses that swizzle alike
constexpr int kThreadsDepth = 4;  // of the statements of a threads loop

bool IsGlobal(Scope scope) {
  return scope == Scope::kIn || scope == Scope::kOut || scope == Scope::kWorkspace;
}

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

bool IsMatrixOperand(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32;
}

}  // namespace

Status GpuVerifier::CheckBuffers() const {
  for (size_t id = 0; id < scope_.kernel().buffers.size(); ++id) {
    const Buffer& buffer = scope_.kernel().buffers[id];
    const std::string what = "buffer '" + buffer.name + "'";
    const bool is_counter = buffer.scope == Scope::kCounter;
    const bool is_mbarrier = buffer.scope == Scope::kMbarrier;
    if (!scope_.gpu() && (is_counter || is_mbarrier || buffer.scope == Scope::kSharedMemory)) {
      return scope_.Bad(what + " is of scope " + std::string(ToText(buffer.scope)) +
                        " in a kernel without threads");
    }
    if (is_counter && buffer.dtype != DType::kI32)
      return scope_.Bad(what + " counts in another than i32");
    if (is_mbarrier && buffer.dtype != DType::kI64) {
      return scope_.Bad(what + " is a barrier of another type than i64");
    }
    if (buffer.overlays == -1) continue;
    if (buffer.overlays < 0 || static_cast<size_t>(buffer.overlays) >= id) {
      return scope_.Bad(what + " overlays no earlier buffer");
    }
    const Buffer& base = scope_.BufferOf(buffer.overlays);
    if (buffer.scope != Scope::kSharedMemory || base.scope != Scope::kSharedMemory ||
        base.overlays != -1) {
      return scope_.Bad(what + " and '" + base.name +
                        "' under it are not a block buffer over one that overlays nothing");
    }
  }
  return {};
}

Status GpuVerifier::CheckThreads(const For& phase) {
  const Block* body = phase.body != nullptr ? std::get_if<Block>(&phase.body->node) : nullptr;
  const bool single = body != nullptr && body->body.size() == 1 && body->body[0] != nullptr;
  threads_ = single ? std::get_if<For>(&body->body[0]->node) : nullptr;
  if (threads_ == nullptr || threads_->kind != LoopKind::kThreads) {
    return scope_.Bad("phase '" + scope_.VarName(phase.var) +
                      "' is not one threads loop, as all phases of a GPU kernel are");
  }
  const int64_t count = RunsToConstant(*threads_) ? std::get<IntImm>(threads_->end->node).value : 0;
  if (count < 32 || count > kMaxThreads || count % 32 != 0) {
    return scope_.Bad("threads loop '" + scope_.VarName(threads_->var) +
                      "' does not run from 0 to a multiple of 32, at most 1024");
  }
  awaits_ = 0;
  return CheckCluster(phase);
}

Status GpuVerifier::EnterRoles(int depth) {
  if (!scope_.gpu()) return scope_.Bad("roles in a kernel without threads");
  if (depth != kThreadsDepth) return scope_.Bad("roles inside a loop or branch");
  in_roles_ = true;
  return {};
}

Status GpuVerifier::CheckCluster(const For& phase) const {
  const int64_t blocks = std::get<IntImm>(phase.end->node).value;
  const bool fits = threads_->cluster >= 1 && threads_->cluster <= kMaxCluster;
  if (fits && blocks % threads_->cluster == 0) return {};
  return scope_.Bad("threads loop '" + scope_.VarName(threads_->var) +
                    "' has a cluster that is not 1 to " + std::to_string(kMaxCluster) +
                    " blocks and a divisor of the grid");
}

Status GpuVerifier::CheckRanks(const ExprRef& ranks, const char* what, int depth) const {
  if (ranks == nullptr) return {};
  if (threads_->cluster == 1) return scope_.Bad(std::string(what) + " in a phase without clusters");
  return expressions_.CheckIndex(ranks, std::string("rank of ") + what, depth);
}

Status GpuVerifier::CheckStmt(const Stmt& stmt, int depth) {
  return std::visit(
      [&](const auto& node) -> Status {
        if constexpr (requires { this->Check(node, depth); }) {
          return Check(node, depth);
        } else if constexpr (requires { async_.Check(node, depth); }) {
          if constexpr (requires { node.ranks; }) {
            MLC_TRY(CheckRanks(node.ranks, "a copy to several blocks", depth));
          }
          if constexpr (requires { node.rank; }) {
            MLC_TRY(CheckRanks(node.rank, "an arrival at another block's mbarrier", depth));
          }
          return async_.Check(node, depth);
        } else {
          return scope_.Bad("a statement of an unknown kind");
        }
      },
      stmt.node);
}

Status GpuVerifier::Check(const Sync& sync, int depth) {
  if (sync.kind == SyncKind::kClusterBarrier) {
    if (threads_->cluster == 1) return scope_.Bad("a cluster_barrier in a phase without clusters");
    if (depth != kThreadsDepth) return scope_.Bad("a cluster_barrier inside a loop or branch");
  }
  if (sync.kind == SyncKind::kAwaitInputs && ++awaits_ > 1) {
    return scope_.Bad("a phase awaits its inputs twice");
  }
  if (sync.kind == SyncKind::kSetRegisters) {
    if (!in_roles_) return scope_.Bad("set_registers outside roles");
    return scope_.Expect(sync.pending >= 24 && sync.pending <= 240 && sync.pending % 8 == 0,
                         "set_registers to a number that is not 24 to 240 by 8");
  }
  const bool counts = sync.kind == SyncKind::kWaitCopies || sync.kind == SyncKind::kWaitProducts;
  const bool pending_fits = counts ? sync.pending >= 0 : sync.pending == 0;
  return scope_.Expect(pending_fits, "a wait for a bad number of groups");
}

Status GpuVerifier::Check(const CopyAsync& copy, int depth) const {
  MLC_TRY(scope_.CheckBuffer(copy.to));
  MLC_TRY(scope_.CheckBuffer(copy.from));
  const Buffer& to = scope_.BufferOf(copy.to);
  const Buffer& from = scope_.BufferOf(copy.from);
  const std::string what = "copy of '" + from.name + "' to '" + to.name + "'";
  if (!IsGlobal(from.scope) || to.scope != Scope::kSharedMemory) {
    return scope_.Bad(what + " is not from global to shared memory");
  }
  if (to.dtype != from.dtype) return scope_.Bad(what + " changes the type");
  const int64_t bytes = copy.lanes < 1 || copy.lanes > 16 ? 0 : copy.lanes * SizeOf(to.dtype);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return scope_.Bad(what + " is not of 4, 8 or 16 bytes");
  MLC_TRY(expressions_.CheckIndex(copy.to_index, "index of '" + to.name + "'", depth));
  MLC_TRY(expressions_.CheckIndex(copy.from_index, "index of '" + from.name + "'", depth));
  if (copy.mask == nullptr) return {};
  return expressions_.CheckIndex(copy.mask, "mask of '" + from.name + "'", depth);
}

Status GpuVerifier::Check(const LoadMatrix& load, int depth) const {
  MLC_TRY(expressions_.CheckRegister(load.to, load.to_index, depth));
  MLC_TRY(scope_.CheckBuffer(load.from));
  const Buffer& to = scope_.BufferOf(load.to);
  const Buffer& from = scope_.BufferOf(load.from);
  const std::string what = "load_matrix of '" + from.name + "' to '" + to.name + "'";
  if (from.scope != Scope::kSharedMemory) return scope_.Bad(what + " is not from shared memory");
  const bool fits = SizeOf(to.dtype) == 2 || to.dtype == DType::kF32 || IsByte(to.dtype);
  if (to.dtype != from.dtype || !fits) {
    return scope_.Bad(what + " is not of a 2-byte type, f32, u8 or i8");
  }
  if (load.transposed && SizeOf(to.dtype) != 2) {
    return scope_.Bad(what + " transposes elements that are not of 2 bytes");
  }
  const int packed = 4 / SizeOf(to.dtype);
  const int matrices = to.lanes / packed;
  if (to.lanes % packed != 0 || (matrices != 1 && matrices != 2 && matrices != 4)) {
    return scope_.Bad(what + " needs a register of " + std::to_string(packed) + ", " +
                      std::to_string(2 * packed) + " or " + std::to_string(4 * packed) + " lanes");
  }
  return expressions_.CheckIndex(load.from_index, "index of '" + from.name + "'", depth);
}

Status GpuVerifier::Check(const LoadPeer& load, int depth) const {
  MLC_TRY(expressions_.CheckRegister(load.to, load.to_index, depth));
  MLC_TRY(scope_.CheckBuffer(load.from));
  const Buffer& to = scope_.BufferOf(load.to);
  const Buffer& from = scope_.BufferOf(load.from);
  const std::string what = "load_peer of '" + from.name + "' to '" + to.name + "'";
  if (threads_->cluster == 1) return scope_.Bad(what + " in a phase without clusters");
  if (from.scope != Scope::kSharedMemory) return scope_.Bad(what + " is not from shared memory");
  if (to.dtype != DType::kF32 || from.dtype != DType::kF32)
    return scope_.Bad(what + " is not of f32");
  MLC_TRY(expressions_.CheckIndex(load.from_index, "index of '" + from.name + "'", depth));
  return expressions_.CheckIndex(load.rank, "rank of '" + from.name + "'", depth);
}

Status GpuVerifier::Check(const Unpack& unpack, int depth) const {
  MLC_TRY(expressions_.CheckRegister(unpack.to, unpack.to_index, depth));
  MLC_TRY(expressions_.CheckRegister(unpack.codes, unpack.codes_index, depth));
  MLC_TRY(expressions_.CheckRegister(unpack.zeros, unpack.zeros_index, depth));
  MLC_TRY(expressions_.CheckRegister(unpack.scales, unpack.scales_index, depth));
  const Buffer& to = scope_.BufferOf(unpack.to);
  const Buffer& codes = scope_.BufferOf(unpack.codes);
  const Buffer& zeros = scope_.BufferOf(unpack.zeros);
  const Buffer& scales = scope_.BufferOf(unpack.scales);
  const std::string what = "unpack of '" + codes.name + "' to '" + to.name + "'";
  if ((to.dtype != DType::kF16 && to.dtype != DType::kBF16) || to.lanes != 8) {
    return scope_.Bad(what + " does not give 8 lanes of f16 or bf16");
  }
  const bool is_float8 = IsFloat8(codes.dtype);
  if (codes.dtype != DType::kI32 && !is_float8) {
    return scope_.Bad(what + " takes other codes than words of i32 or float8");
  }
  for (const Buffer* pair : {&zeros, &scales}) {
    if (pair->dtype == to.dtype && pair->lanes == 2) continue;
    return scope_.Bad(what + " needs 2 lanes of its type in '" + pair->name + "'");
  }
  if (unpack.bits != 4 && unpack.bits != 8) return scope_.Bad(what + " is not of 4 or 8 bits");
  if (is_float8 && unpack.bits != 8) return scope_.Bad(what + " takes float8 of other than 8 bits");
  const int parts = codes.lanes / (is_float8 ? 8 : unpack.bits / 4);
  if (unpack.part < 0 || unpack.part >= parts) return scope_.Bad(what + " is past its codes");
  const int bias = is_float8 ? 0 : BiasOfCodes(to.dtype, unpack.bits);
  return scope_.Expect(unpack.bias == 0 || unpack.bias == bias,
                       "an unpack with a bias that its type does not have");
}

Status GpuVerifier::Check(const Mma& mma, int depth) const {
  MLC_TRY(expressions_.CheckRegister(mma.c, mma.c_index, depth));
  MLC_TRY(expressions_.CheckRegister(mma.a, mma.a_index, depth));
  MLC_TRY(expressions_.CheckRegister(mma.b, mma.b_index, depth));
  const Buffer& c = scope_.BufferOf(mma.c);
  const Buffer& a = scope_.BufferOf(mma.a);
  const Buffer& b = scope_.BufferOf(mma.b);
  const std::string what = "mma of '" + a.name + "' and '" + b.name + "' into '" + c.name + "'";
  const bool of_bytes = a.dtype == DType::kU8 && b.dtype == DType::kI8;
  if (c.dtype != (of_bytes ? DType::kI32 : DType::kF32) || c.lanes != 4) {
    return scope_.Bad(what + " does not sum in f32x4, or in i32x4 of bytes");
  }
  if (!of_bytes && (a.dtype != b.dtype || !IsMatrixOperand(a.dtype))) {
    return scope_.Bad(what + " takes two f16, bf16 or f32, or u8 and i8");
  }
  const int b_lanes = 8 / SizeOf(a.dtype);
  if (a.lanes != 2 * b_lanes || b.lanes % b_lanes != 0) return scope_.Bad(what + " has bad lanes");
  return scope_.Expect(mma.part >= 0 && mma.part < b.lanes / b_lanes,
                       "an mma of a part past its operand");
}

Status GpuVerifier::Check(const WarpgroupMma& mma, int depth) const {
  MLC_TRY(expressions_.CheckRegister(mma.c, mma.c_index, depth));
  MLC_TRY(scope_.CheckBuffer(mma.a));
  MLC_TRY(scope_.CheckBuffer(mma.b));
  const Buffer& c = scope_.BufferOf(mma.c);
  const Buffer& a = scope_.BufferOf(mma.a);
  const Buffer& b = scope_.BufferOf(mma.b);
  const std::string what =
      "warpgroup_mma of '" + a.name + "' and '" + b.name + "' into '" + c.name + "'";
  const bool in_registers = a.scope == Scope::kRegister;
  if ((a.scope != Scope::kSharedMemory && !in_registers) || b.scope != Scope::kSharedMemory) {
    return scope_.Bad(what + " is not from shared memory");
  }
  const bool of_bytes = a.dtype == DType::kU8 && b.dtype == DType::kI8;
  if (c.dtype != (of_bytes ? DType::kI32 : DType::kF32) || c.lanes != 4) {
    return scope_.Bad(what + " does not sum in f32x4, or in i32x4 of bytes");
  }
  const bool alike = a.dtype == b.dtype && IsMatrixOperand(a.dtype);
  if (!alike && !of_bytes && !(IsFloat8(a.dtype) && IsFloat8(b.dtype))) {
    return scope_.Bad(what + " takes two f16, bf16 or f32, float8, or u8 and i8");
  }
  if (in_registers && SizeOf(a.dtype) == 1) return scope_.Bad(what + " takes bytes from registers");
  if (in_registers && a.lanes != 4) return scope_.Bad(what + " takes registers of 4 lanes alone");
  constexpr int kChunk = 64;  // columns, and rows, of a block that lies across k
  if (mma.across != 0 &&
      (SizeOf(b.dtype) != 2 || mma.columns % kChunk != 0 || mma.across % kAcrossStep != 0)) {
    return scope_.Bad(what + " lies across k, but is not of whole blocks of f16 or bf16");
  }
  if (in_registers) MLC_TRY(expressions_.CheckRegister(mma.a, mma.a_index, depth));
  if (mma.columns < 8 || mma.columns > 256 || mma.columns % 8 != 0) {
    return scope_.Bad(what + " is not of 8 to 256 columns by 8");
  }
  MLC_TRY(expressions_.CheckIndex(mma.a_index, "index of '" + a.name + "'", depth));
  MLC_TRY(expressions_.CheckIndex(mma.b_index, "index of '" + b.name + "'", depth));
  // Roles may leave some threads to other warps.
  const int64_t threads = std::get<IntImm>(threads_->end->node).value;
  if (threads % 128 == 0 || (in_roles_ && threads > 128)) return {};
  return scope_.Bad(what + " in a block that is not of warpgroups of 128 threads");
}

Status GpuVerifier::Check(const Arrive& arrive, int depth) {
  MLC_TRY(scope_.CheckBuffer(arrive.counter));
  const Buffer& counter = scope_.BufferOf(arrive.counter);
  if (counter.scope != Scope::kCounter) return scope_.Bad("'" + counter.name + "' is no counter");
  if (arrive.of < 1) return scope_.Bad("an arrival at '" + counter.name + "' of less than one");
  MLC_TRY(expressions_.CheckIndex(arrive.index, "index of '" + counter.name + "'", depth));
  return scope_.Bind(arrive.var, VerifyScope::Binding::kDynamic);
}

}  // namespace mlc::ir
