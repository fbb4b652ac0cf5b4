#include "compiler/ir/interpret/gpu_tile_copies.h"

#include <algorithm>
#include <cstdint>

namespace mlc::ir {

namespace {

constexpr int64_t kTileAlignment = 1024;  // bytes
constexpr int64_t kRowBytes = 128;
constexpr int64_t kPieceBytes = 16;
constexpr int kMaxRanks = 64;  // bits of a mask

// Whether at + by is in 0 .. end.
bool Inside(int64_t at, int64_t by, int64_t end) { return at >= -by && at < end && at + by < end; }

}  // namespace

std::string GpuTileCopies::NameOf(const GpuAsync::Key& key) const {
  return state_.BufferOf(key.buffer).name + "[" + std::to_string(key.index) + "]";
}

bool GpuTileCopies::Find(BufferId barrier, int64_t index, int thread, GpuAsync::Key* key) {
  const Buffer& buffer = state_.BufferOf(barrier);
  *key = {state_.rank, barrier, index};
  if (index >= 0 && index < buffer.size) return true;
  state_.FailAccess(GpuFault::kBounds, "uses", buffer, index, thread);
  return false;
}

void GpuTileCopies::Do(const MbarrierInit& init) {
  LaneStack::Frame frame(state_.stack);
  Lane* index = frame.Take(state_.Count());
  expressions_.Eval(*init.index, index);
  if (state_.failed || !state_.AllOfBlock("mbarrier_init")) return;
  GpuAsync::Key key;
  if (!Find(init.barrier, index[0].i, state_.active[0], &key)) return;
  const std::string wrong = state_.async.Init(key, init.arrivals);
  if (!wrong.empty()) {
    return state_.Fail(StatusCode::kFailedPrecondition, "begins '" + NameOf(key) + "', " + wrong,
                       state_.active[0]);
  }
  state_.clock.Barrier();
  state_.async.BlockBarrier();
}

void GpuTileCopies::Do(const MbarrierArrive& arrive) {
  LaneStack::Frame frame(state_.stack);
  Lane* index = frame.Take(state_.Count());
  expressions_.Eval(*arrive.index, index);
  Lane* rank = arrive.rank == nullptr ? nullptr : frame.Take(state_.Count());
  if (rank != nullptr) expressions_.Eval(*arrive.rank, rank);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    GpuAsync::Key key;
    if (!Find(arrive.barrier, index[i].i, state_.active[i], &key)) return;
    if (rank != nullptr) {
      if (!Reaches(rank[i].i, "arrives at '" + NameOf(key) + "'", state_.active[i])) return;
      key.rank = static_cast<int>(rank[i].i);
    }
    // One thread speaks for what its warp did before the last barrier of the warp.
    const int warp = state_.active[i] / kWarpThreads;
    const std::string wrong =
        state_.async.Arrive(key, warp, arrive.bytes, state_.clock.warp_barrier(warp));
    if (wrong.empty()) continue;
    state_.Fail(StatusCode::kFailedPrecondition, "arrives at '" + NameOf(key) + "', " + wrong,
                state_.active[i]);
  }
}

void GpuTileCopies::Do(const MbarrierWait& wait) {
  LaneStack::Frame frame(state_.stack);
  Lane* index = frame.Take(state_.Count());
  Lane* parity = frame.Take(state_.Count());
  expressions_.Eval(*wait.index, index);
  expressions_.Eval(*wait.parity, parity);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    GpuAsync::Key key;
    if (!Find(wait.barrier, index[i].i, state_.active[i], &key)) return;
    for (bool done = false; !done && !state_.failed;) {
      const std::string wrong = state_.async.Wait(key, state_.active[i] / kWarpThreads,
                                                  static_cast<int>(parity[i].i), &done);
      if (!wrong.empty()) {
        return state_.Fail(StatusCode::kFailedPrecondition,
                           "waits at '" + NameOf(key) + "', " + wrong, state_.active[i]);
      }
      if (done || roles_.PassTurn()) continue;
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "waits at '" + NameOf(key) + "' for a phase that is never completed",
                         state_.active[i]);
    }
  }
  if (!state_.failed) LearnInWarps();
}

// Warps of which every thread has waited know what those who arrived did.
void GpuTileCopies::LearnInWarps() {
  const std::vector<int>& active = state_.active;
  for (size_t i = 0; i + kWarpThreads <= active.size(); ++i) {
    if (active[i] % kWarpThreads != 0) continue;
    if (active[i + kWarpThreads - 1] != active[i] + kWarpThreads - 1) continue;
    const int warp = active[i] / kWarpThreads;
    for (int other = 0; other < state_.async.warps(); ++other) {
      state_.clock.See(warp, other, state_.async.KnownUntil(warp, other));
    }
  }
}

bool GpuTileCopies::Reaches(int64_t rank, const std::string& what, int thread) {
  if (rank < 0 || rank >= state_.cluster_size) {
    state_.Fail(StatusCode::kOutOfRange,
                what + " of rank " + std::to_string(rank) + " in a cluster of " +
                    std::to_string(state_.cluster_size),
                thread);
  } else if (rank != state_.rank && state_.last_part) {
    state_.Fail(StatusCode::kFailedPrecondition,
                what + " of another block after the last cluster_barrier", thread);
  }
  return !state_.failed;
}

bool GpuTileCopies::Target(const Lane* ranks, const std::string& name, int thread) {
  targets_.assign(1, state_.rank);
  if (ranks == nullptr) return true;
  targets_.clear();
  for (int rank = 0; rank < kMaxRanks; ++rank) {
    if ((static_cast<uint64_t>(ranks->i) >> rank & 1) == 0) continue;
    if (!Reaches(rank, "copies to '" + name + "'", thread)) return false;
    targets_.push_back(rank);
  }
  return true;
}

bool GpuTileCopies::Put(BufferId to, int64_t at, int64_t count, int thread, BufferId barrier,
                        int64_t index) {
  GpuAsync::Key key;
  if (!Find(barrier, index, thread, &key)) return false;
  return std::all_of(targets_.begin(), targets_.end(), [&](int rank) {
    key.rank = rank;
    return PutOne(to, at, count, thread, key);
  });
}

void GpuTileCopies::PutValue(BufferId to, int64_t at, Lane value) {
  for (const int rank : targets_) cluster_.MemoryOf(to, rank).PutTile(at, value);
}

// The values come at once; no thread may read them before its wait.
bool GpuTileCopies::PutOne(BufferId to, int64_t at, int64_t count, int thread,
                           const GpuAsync::Key& key) {
  GpuMemory& target = cluster_.MemoryOf(to, key.rank);
  const Buffer& buffer = target.buffer();
  const int64_t bytes = count * SizeOf(buffer.dtype);
  if (at < 0 || count > buffer.size || at > buffer.size - count) {
    state_.FailAccess(GpuFault::kBounds, "copies to", buffer, at < 0 ? at : buffer.size, thread);
    return false;
  }
  std::string wrong = "which also loads or stores touch";
  if (target.BecomeTiles()) {
    wrong = state_.async.Copy(to, at, at + count, thread / kWarpThreads, key, bytes);
  }
  if (wrong.empty()) return true;
  state_.Fail(StatusCode::kFailedPrecondition,
              "copies to '" + buffer.name + "[" + std::to_string(at) + "]', " + wrong, thread);
  return false;
}

void GpuTileCopies::Do(const CopyBulk& copy) {
  LaneStack::Frame frame(state_.stack);
  Lane* to = frame.Take(state_.Count());
  Lane* from = frame.Take(state_.Count());
  Lane* barrier = frame.Take(state_.Count());
  expressions_.Eval(*copy.to_index, to);
  expressions_.Eval(*copy.from_index, from);
  expressions_.Eval(*copy.barrier_index, barrier);
  Lane* ranks = copy.ranks == nullptr ? nullptr : frame.Take(state_.Count());
  if (ranks != nullptr) expressions_.Eval(*copy.ranks, ranks);
  const Buffer& target = state_.BufferOf(copy.to);
  const int64_t piece = kPieceBytes / SizeOf(target.dtype);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    if (to[i].i % piece != 0 || from[i].i % piece != 0) {
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "copies in bulk to '" + target.name + "[" + std::to_string(to[i].i) +
                             "]', where an end is not aligned to 16 bytes",
                         state_.active[i]);
    }
    if (!Target(ranks == nullptr ? nullptr : ranks + i, target.name, state_.active[i])) return;
    if (!Put(copy.to, to[i].i, copy.elements, state_.active[i], copy.barrier, barrier[i].i)) return;
    PutRun(copy, state_.active[i], to[i].i, from[i].i);
  }
}

void GpuTileCopies::PutRun(const CopyBulk& copy, int thread, int64_t to, int64_t from) {
  GpuMemory& source = state_.MemoryOf(copy.from);
  const int64_t size = source.buffer().size;
  if (from < 0 || from > size - copy.elements) {
    return state_.FailAccess(GpuFault::kBounds, "copies", source.buffer(), from < 0 ? from : size,
                             thread);
  }
  for (int64_t at = 0; at < copy.elements; ++at) {
    Lane value;
    int64_t bad = 0;
    const GpuFault fault = source.Read(from + at, 1, 1, thread, &value, &bad);
    if (fault != GpuFault::kNone) {
      return state_.FailAccess(fault, "copies", source.buffer(), bad, thread);
    }
    PutValue(copy.to, to + at, value);
  }
}

void GpuTileCopies::Do(const CopyTensor& copy) {
  LaneStack::Frame frame(state_.stack);
  const auto values = [&](const ExprRef& e) {
    Lane* lanes = frame.Take(state_.Count());
    expressions_.Eval(*e, lanes);
    return lanes;
  };
  const Lane* const to = values(copy.to_index);
  const Lane* const k = values(copy.k);
  const Lane* const barrier = values(copy.barrier_index);
  const Lane* const ranks = copy.ranks == nullptr ? nullptr : values(copy.ranks);
  std::vector<const Lane*> rows = {values(copy.row)};
  for (const BoxAxis& axis : copy.outer) rows.push_back(values(axis.at));
  const int64_t size = SizeOf(state_.MemoryOf(copy.from).buffer().dtype);
  const int64_t count = copy.AllRows() * (kRowBytes / size);
  for (size_t i = 0; i < state_.Count() && !state_.failed; ++i) {
    const std::string& name = state_.MemoryOf(copy.to).buffer().name;
    if (!state_.async.HasMaps(state_.active[i] / kWarpThreads)) {
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "copies a tensor to '" + name + "' without make_tensor_maps of its warp",
                         state_.active[i]);
    }
    if (to[i].i % (kTileAlignment / size) != 0) {
      return state_.Fail(StatusCode::kFailedPrecondition,
                         "copies a tensor to '" + name + "[" + std::to_string(to[i].i) +
                             "]', which is not aligned to 1024 bytes",
                         state_.active[i]);
    }
    if (!Target(ranks == nullptr ? nullptr : ranks + i, name, state_.active[i])) return;
    if (!Put(copy.to, to[i].i, count, state_.active[i], copy.barrier, barrier[i].i)) return;
    std::vector<int64_t> place;
    for (const Lane* row : rows) place.push_back(row[i].i);
    PutBox(copy, state_.active[i], to[i].i, place, k[i].i);
  }
}

// Where row r of the copy begins, from `place` on; nothing outside the matrix.
std::optional<int64_t> GpuTileCopies::RowAt(const CopyTensor& copy,
                                            const std::vector<int64_t>& place, int64_t r) {
  int64_t offset = 0;
  for (size_t d = 0; d < place.size(); ++d) {
    const BoxAxis axis =
        d == 0 ? BoxAxis{nullptr, copy.box, copy.rows, copy.pitch, copy.step} : copy.outer[d - 1];
    const int64_t by = r % axis.box * std::max(axis.step, 1);
    r /= axis.box;
    if (!Inside(place[d], by, axis.extent)) return std::nullopt;
    offset += (place[d] + by) * axis.pitch;
  }
  return offset;
}

void GpuTileCopies::PutBox(const CopyTensor& copy, int thread, int64_t to,
                           const std::vector<int64_t>& place, int64_t k) {
  GpuMemory& source = state_.MemoryOf(copy.from);
  const int64_t size = SizeOf(source.buffer().dtype);
  const int64_t depth = kRowBytes / size, piece = kPieceBytes / size;
  for (int64_t at = 0; at < copy.AllRows() * depth; ++at) {
    const int64_t r = at / depth, d = at % depth;
    Lane value;
    value.f = 0;
    const std::optional<int64_t> row = RowAt(copy, place, r);
    int64_t bad = 0;
    const GpuFault fault = row && Inside(k, d, copy.depth)
                               ? source.Read(*row + k + d, 1, 1, thread, &value, &bad)
                               : GpuFault::kNone;
    if (fault != GpuFault::kNone)
      return state_.FailAccess(fault, "copies", source.buffer(), bad, thread);
    PutValue(copy.to, to + r * depth + ((d / piece) ^ (r % 8)) * piece + d % piece, value);
  }
}

}  // namespace mlc::ir
