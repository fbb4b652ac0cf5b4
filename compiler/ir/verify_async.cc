#include "compiler/ir/verify_async.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mlc::ir {

namespace {

constexpr int64_t kMaxArrivals = (1 << 20) - 1;
constexpr int kMaxBytes = (1 << 20) - 1;
constexpr int kMaxBox = 256;
constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
constexpr int kPiece = 16;  // bytes
constexpr size_t kMaxOuter = 3;
constexpr int kMaxStep = 8;
constexpr int64_t kMaxRows = 1024;

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
  for (const BoxAxis& axis : copy.outer) {
    MLC_TRY(expressions_.CheckIndex(axis.at, "place of '" + from.name + "'", depth));
  }
  MLC_TRY(CheckBox(copy, what));
  return CheckMbarrier(copy.barrier, copy.barrier_index, depth);
}

Status AsyncVerifier::CheckBox(const CopyTensor& copy, const std::string& what) const {
  const Buffer& from = scope_.BufferOf(copy.from);
  const int64_t size = SizeOf(from.dtype);
  if (copy.outer.size() > kMaxOuter) return scope_.Bad(what + " has more than 5 dimensions");
  std::vector<BoxAxis> axes = copy.outer;
  axes.insert(axes.begin(), {nullptr, copy.box, copy.rows, copy.pitch, copy.step});
  int64_t least = copy.depth, last = from.size - copy.depth, rows = 1;
  bool inside = copy.depth >= 1 && last >= 0;
  for (const BoxAxis& axis : axes) {
    if (axis.step < 0 || axis.step > kMaxStep) return scope_.Bad(what + " has steps above 8");
    const int64_t reach = int64_t{axis.box - 1} * std::max(axis.step, 1) + 1;
    rows *= std::max(axis.box, 1);
    if (axis.box < 1 || reach > kMaxBox || rows > kMaxRows) {
      return scope_.Bad(what + " is not of 1 to 256 rows");
    }
    inside = inside && axis.extent >= 1 && axis.extent <= kMaxExtent && axis.pitch >= least &&
             axis.pitch <= kMaxExtent && axis.pitch * size % kPiece == 0 &&
             axis.extent - 1 <= last / axis.pitch;
    if (!inside) break;
    last -= (axis.extent - 1) * axis.pitch;
    least = axis.pitch;
  }
  if (inside) return {};
  return scope_.Bad(what +
                    " is of a matrix outside the buffer, or of rows not aligned to 16 bytes");
}

}  // namespace mlc::ir
