#include "compiler/ir/interpret/gpu_async.h"

#include <algorithm>
#include <limits>

namespace mlc::ir {

namespace {

constexpr uint32_t kUnderWay = std::numeric_limits<uint32_t>::max();
constexpr int kWarpsOfGroup = 4;

}  // namespace

void GpuAsync::StartBlock(int warps) {
  warps_ = warps;
  barriers_.clear();
  regions_.clear();
  map_maker_ = -1;
  clocks_.assign(static_cast<size_t>(warps), Clock(static_cast<size_t>(warps), 0));
  arrivals_.assign(static_cast<size_t>(warps), {});
}

void GpuAsync::Join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

GpuAsync::Barrier* GpuAsync::Find(const Key& key) {
  const auto found = barriers_.find(key);
  return found == barriers_.end() ? nullptr : &found->second;
}

std::string GpuAsync::Init(const Key& key, int64_t arrivals) {
  Barrier barrier;
  barrier.arrivals = barrier.pending = arrivals;
  barrier.slot = static_cast<size_t>(warps_) + barriers_.size();
  for (Clock& clock : clocks_) clock.resize(barrier.slot + 1, 0);
  return barriers_.emplace(key, barrier).second ? "" : "which is begun twice";
}

void GpuAsync::CompleteIfReady(Barrier& barrier) {
  ++changes_;
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  Join(barrier.seen, barrier.arriving);
  if (barrier.seen.size() <= barrier.slot) barrier.seen.resize(barrier.slot + 1, 0);
  barrier.seen[barrier.slot] = barrier.phase;
  barrier.arriving.clear();
}

std::string GpuAsync::Arrive(const Key& key, int warp, int64_t bytes, uint32_t before) {
  Barrier* barrier = Find(key);
  if (barrier == nullptr) return "which no mbarrier_init has begun";
  if (barrier->pending == 0) return "at which all have arrived in this phase";
  Clock& clock = clocks_[static_cast<size_t>(warp)];
  ++clock[static_cast<size_t>(warp)];
  arrivals_[static_cast<size_t>(warp)].push_back(before);
  Join(barrier->arriving, clock);
  --barrier->pending;
  barrier->bytes += bytes;
  CompleteIfReady(*barrier);
  return "";
}

std::string GpuAsync::Wait(const Key& key, int warp, int parity, bool* done) {
  Barrier* barrier = Find(key);
  *done = false;
  if (barrier == nullptr) return "which no mbarrier_init has begun";
  if (parity != 0 && parity != 1) return "for a parity that is not 0 or 1";
  *done = barrier->phase % 2 != static_cast<uint32_t>(parity);
  if (*done) Join(clocks_[static_cast<size_t>(warp)], barrier->seen);
  return "";
}

uint32_t GpuAsync::KnownUntil(int warp, int other) const {
  const uint32_t known = clocks_[static_cast<size_t>(warp)][static_cast<size_t>(other)];
  return known == 0 ? 0 : arrivals_[static_cast<size_t>(other)][known - 1];
}

// Whether what the region holds has come, and been read, as far as the warp knows.
bool GpuAsync::Free(const Region& region, int warp) const {
  const Clock& clock = clocks_[static_cast<size_t>(warp)];
  if (clock[region.slot] <= region.phase) return false;
  return std::all_of(region.readers.begin(), region.readers.end(), [&](const Reader& reader) {
    // A warp's arrival after the read has a higher count.
    return reader.moment != kUnderWay && clock[static_cast<size_t>(reader.warp)] > reader.moment;
  });
}

std::string GpuAsync::Copy(BufferId buffer, int64_t begin, int64_t end, int warp, const Key& key,
                           int64_t bytes) {
  Barrier* barrier = Find(key);
  if (barrier == nullptr) return "and signals a barrier that no mbarrier_init has begun";
  std::vector<Region>& regions = regions_[buffer];
  for (size_t i = 0; i < regions.size();) {
    if (regions[i].end <= begin || end <= regions[i].begin) {
      ++i;
      continue;
    }
    if (!Free(regions[i], warp)) {
      return "over a tile that may still be under way or read: no phase that it has waited for "
             "says otherwise";
    }
    regions.erase(regions.begin() + static_cast<ptrdiff_t>(i));
  }
  regions.push_back({begin, end, barrier->slot, barrier->phase, {}});
  barrier->bytes -= bytes;
  CompleteIfReady(*barrier);
  return "";
}

std::string GpuAsync::BeginRead(BufferId buffer, int64_t begin, int64_t end, int warp) {
  int64_t covered = 0;
  for (Region& region : regions_[buffer]) {
    const int64_t from = std::max(region.begin, begin), to = std::min(region.end, end);
    if (from >= to) continue;
    covered += to - from;
    for (int w = warp; w < warp + kWarpsOfGroup; ++w) {
      if (clocks_[static_cast<size_t>(w)][region.slot] <= region.phase) {
        return "whose copy warp " + std::to_string(w) + " has not waited for";
      }
      region.readers.push_back({w, kUnderWay});
    }
  }
  return covered == end - begin ? "" : "which no copy has filled";
}

void GpuAsync::EndRead(BufferId buffer, int64_t begin, int64_t end, int warp) {
  for (Region& region : regions_[buffer]) {
    if (region.end <= begin || end <= region.begin) continue;
    for (int w = warp; w < warp + kWarpsOfGroup; ++w) {
      const auto reader =
          std::find_if(region.readers.begin(), region.readers.end(),
                       [&](const Reader& r) { return r.warp == w && r.moment == kUnderWay; });
      if (reader == region.readers.end()) continue;
      reader->moment = clocks_[static_cast<size_t>(w)][static_cast<size_t>(w)];
    }
  }
}

bool GpuAsync::MakeMaps(int warp) {
  if (map_maker_ < 0) map_maker_ = warp;
  return map_maker_ == warp;
}

void GpuAsync::BlockBarrier() {
  if (barriers_.empty()) return;
  Clock all;
  // As if each had arrived at a barrier that all wait for.
  for (size_t w = 0; w < clocks_.size(); ++w) {
    ++clocks_[w][w];
    arrivals_[w].push_back(arrivals_[w].empty() ? 0 : arrivals_[w].back());
    Join(all, clocks_[w]);
  }
  for (Clock& clock : clocks_) clock = all;
}

std::string GpuAsync::EndBlock() const {
  const auto known = [&](const Region& region) {
    return std::any_of(clocks_.begin(), clocks_.end(),
                       [&](const Clock& clock) { return clock[region.slot] > region.phase; });
  };
  for (const auto& [buffer, regions] : regions_) {
    if (!std::all_of(regions.begin(), regions.end(), known)) {
      return "with copies to shared memory under way";
    }
  }
  return "";
}

}  // namespace mlc::ir
