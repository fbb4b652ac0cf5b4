#include "compiler/ir/verify_async.h"

#include <string>

namespace mlc::ir {

namespace {

constexpr int64_t kMaxArrivals = (1 << 20) - 1;
constexpr int kMaxBytes = (1 << 20) - 1;
constexpr int kMaxBox = 256;
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
constexpr int kPiece = 16;  // bytes

bool Copyable(const Buffer& to, const Buffer& from) {
  const bool global =
      from.scope == Scope::kIn || from.scope == Scope::kOut || from.scope == Scope::kWorkspace;
  return global && to.scope == Scope::kSharedMemory && to.overlays == -1;
}

}  // namespace

Status AsyncVerifier::CheckMbarrier(BufferId id, const ExprRef& index, int depth) const {
  MLC_TRY(scope_.CheckBuffer(id));
  const Buffer& barrier = scope_.BufferOf(id);
  if (barrier.scope != Scope::kMbarrier) return scope_.Bad("'" + barrier.name + "' is no mbarrier");
  return expressions_.CheckIndex(index, "index of '" + barrier.name + "'", depth);
}

Status AsyncVerifier::Check(const MbarrierInit& init, int depth) const {
  MLC_TRY(CheckMbarrier(init.barrier, init.index, depth));
  return scope_.Expect(init.arrivals >= 1 && init.arrivals <= kMaxArrivals,
                       "an mbarrier of less than one arrival, or of too many");
}

Status AsyncVerifier::Check(const MbarrierArrive& arrive, int depth) const {
  MLC_TRY(CheckMbarrier(arrive.barrier, arrive.index, depth));
  if (arrive.rank != nullptr && arrive.bytes != 0) {
    return scope_.Bad("an arrival that announces bytes to another block");
  }
  return scope_.Expect(arrive.bytes >= 0 && arrive.bytes <= kMaxBytes && arrive.bytes % kPiece == 0,
                       "an arrival that announces a number of bytes that is not 0 to 2^20 by 16");
}

Status AsyncVerifier::Check(const MbarrierWait& wait, int depth) const {
  MLC_TRY(CheckMbarrier(wait.barrier, wait.index, depth));
  return expressions_.CheckIndex(wait.parity,
                                 "parity of '" + scope_.BufferOf(wait.barrier).name + "'", depth);
}

Status AsyncVerifier::CheckTile(BufferId to_id, BufferId from_id, const ExprRef& to_index,
                                int depth) const {
  MLC_TRY(scope_.CheckBuffer(to_id));
  MLC_TRY(scope_.CheckBuffer(from_id));
  const Buffer& to = scope_.BufferOf(to_id);
  const Buffer& from = scope_.BufferOf(from_id);
  const std::string what = "copy of '" + from.name + "' to '" + to.name + "'";
  if (!Copyable(to, from)) {
    return scope_.Bad(what + " is not from global to shared memory of its own");
  }
  if (to.dtype != from.dtype) return scope_.Bad(what + " changes the type");
  return expressions_.CheckIndex(to_index, "index of '" + to.name + "'", depth);
}

Status AsyncVerifier::Check(const CopyBulk& copy, int depth) const {
  MLC_TRY(CheckTile(copy.to, copy.from, copy.to_index, depth));
  const Buffer& from = scope_.BufferOf(copy.from);
  MLC_TRY(expressions_.CheckIndex(copy.from_index, "index of '" + from.name + "'", depth));
  const int64_t bytes = int64_t{copy.elements} * SizeOf(from.dtype);
  if (bytes < kPiece || bytes > kMaxBytes || bytes % kPiece != 0) {
    return scope_.Bad("copy of '" + from.name + "' is not of 16 to 2^20 bytes by 16");
  }
  return CheckMbarrier(copy.barrier, copy.barrier_index, depth);
}

Status AsyncVerifier::Check(const CopyTensor& copy, int depth) const {
  MLC_TRY(CheckTile(copy.to, copy.from, copy.to_index, depth));
  const Buffer& from = scope_.BufferOf(copy.from);
  const std::string what = "tensor copy of '" + from.name + "'";
  MLC_TRY(expressions_.CheckIndex(copy.row, "row of '" + from.name + "'", depth));
  MLC_TRY(expressions_.CheckIndex(copy.k, "position of '" + from.name + "'", depth));
  if (from.dtype != DType::kF16 && from.dtype != DType::kBF16 && from.dtype != DType::kF32 &&
      !IsFloat8(from.dtype) && from.dtype != DType::kU8 && from.dtype != DType::kI8) {
    return scope_.Bad(what + " is not of f16, bf16, f32, float8, u8 or i8");
  }
  if (copy.box < 1 || copy.box > kMaxBox) return scope_.Bad(what + " is not of 1 to 256 rows");
  const int64_t size = SizeOf(from.dtype);
  const bool extents = copy.rows >= 1 && copy.rows <= kMaxExtent && copy.depth >= 1 &&
                       copy.depth <= copy.pitch && copy.pitch <= kMaxExtent;
  if (!extents || copy.pitch * size % kPiece != 0 ||
      copy.rows - 1 > (from.size - copy.depth) / copy.pitch || copy.depth > from.size) {
    return scope_.Bad(what +
                      " is of a matrix outside the buffer, or of rows not aligned to 16 bytes");
  }
  return CheckMbarrier(copy.barrier, copy.barrier_index, depth);
}

}  // namespace mlc::ir
