#include "compiler/ir/interpret/gpu_async.h"

#include <algorithm>
#include <limits>

namespace mlc::ir {

namespace {

constexpr uint32_t kUnderWay = std::numeric_limits<uint32_t>::max();
constexpr int kWarpsOfGroup = 4;

}  // namespace

void GpuAsync::StartCluster(int warps, int blocks) {
  warps_ = warps;
  rank_ = part_ = 0;
  barriers_.clear();
  regions_.clear();
  map_makers_.assign(static_cast<size_t>(blocks), -1);
  const size_t all = static_cast<size_t>(warps) * static_cast<size_t>(blocks);
  clocks_.assign(all, Clock(all, 0));
  arrivals_.assign(all, {});
}

void GpuAsync::Join(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

GpuAsync::Barrier* GpuAsync::Find(const Key& key) {
  const auto found = barriers_.find(key);
  if (found == barriers_.end()) return nullptr;
  return key.rank != rank_ && found->second.part == part_ ? nullptr : &found->second;
}

std::string GpuAsync::Unknown(const Key& key) const {
  if (!barriers_.contains(key)) return "which no mbarrier_init has begun";
  return "which no cluster_barrier has made known to other blocks";
}

std::string GpuAsync::Init(const Key& key, int64_t arrivals) {
  Barrier barrier;
  barrier.arrivals = barrier.pending = arrivals;
  barrier.slot = arrivals_.size() + barriers_.size();
  barrier.part = part_;
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
  if (barrier == nullptr) return Unknown(key);
  if (barrier->pending == 0) return "at which all have arrived in this phase";
  const size_t self = Global(warp);
  Clock& clock = clocks_[self];
  ++clock[self];
  arrivals_[self].push_back(before);
  Join(barrier->arriving, clock);
  --barrier->pending;
  barrier->bytes += bytes;
  CompleteIfReady(*barrier);
  return "";
}

std::string GpuAsync::Wait(const Key& key, int warp, int parity, bool* done) {
  Barrier* barrier = Find(key);
  *done = false;
  if (barrier == nullptr) return Unknown(key);
  if (parity != 0 && parity != 1) return "for a parity that is not 0 or 1";
  *done = barrier->phase % 2 != static_cast<uint32_t>(parity);
  if (*done) Join(clocks_[Global(warp)], barrier->seen);
  return "";
}

uint32_t GpuAsync::KnownUntil(int warp, int other) const {
  const uint32_t known = clocks_[Global(warp)][Global(other)];
  return known == 0 ? 0 : arrivals_[Global(other)][known - 1];
}

// Whether what the region holds has come, and been read, as far as the warp knows.
bool GpuAsync::Free(const Region& region, int warp) const {
  const Clock& clock = clocks_[Global(warp)];
  if (clock[region.slot] <= region.phase) return false;
  return std::all_of(region.readers.begin(), region.readers.end(), [&](const Reader& reader) {
    // A warp's arrival after the read has a higher count.
    return reader.moment != kUnderWay && clock[reader.warp] > reader.moment;
  });
}

std::string GpuAsync::Copy(BufferId buffer, int64_t begin, int64_t end, int warp, const Key& key,
                           int64_t bytes) {
  Barrier* barrier = Find(key);
  if (barrier == nullptr) return "and signals a barrier " + Unknown(key);
  std::vector<Region>& regions = regions_[{key.rank, buffer}];
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
  for (Region& region : RegionsOf(buffer)) {
    const int64_t from = std::max(region.begin, begin), to = std::min(region.end, end);
    if (from >= to) continue;
    covered += to - from;
    for (int w = warp; w < warp + kWarpsOfGroup; ++w) {
      if (clocks_[Global(w)][region.slot] <= region.phase) {
        return "whose copy warp " + std::to_string(w) + " has not waited for";
      }
      region.readers.push_back({Global(w), kUnderWay});
    }
  }
  return covered == end - begin ? "" : "which no copy has filled";
}

void GpuAsync::EndRead(BufferId buffer, int64_t begin, int64_t end, int warp) {
  for (Region& region : RegionsOf(buffer)) {
    if (region.end <= begin || end <= region.begin) continue;
    for (size_t w = Global(warp); w < Global(warp + kWarpsOfGroup); ++w) {
      const auto reader =
          std::find_if(region.readers.begin(), region.readers.end(),
                       [&](const Reader& r) { return r.warp == w && r.moment == kUnderWay; });
      if (reader == region.readers.end()) continue;
      reader->moment = clocks_[w][w];
    }
  }
}

bool GpuAsync::MakeMaps(int warp) {
  int& maker = map_makers_[static_cast<size_t>(rank_)];
  if (maker < 0) maker = warp;
  return maker == warp;
}

// As if each had arrived at a barrier that all of these warps wait for.
void GpuAsync::JoinAll(size_t first, size_t count) {
  if (barriers_.empty()) return;
  Clock all;
  for (size_t w = first; w < first + count; ++w) {
    ++clocks_[w][w];
    arrivals_[w].push_back(arrivals_[w].empty() ? 0 : arrivals_[w].back());
    Join(all, clocks_[w]);
  }
  for (size_t w = first; w < first + count; ++w) clocks_[w] = all;
}

void GpuAsync::BlockBarrier() { JoinAll(Global(0), static_cast<size_t>(warps_)); }

void GpuAsync::ClusterBarrier() {
  JoinAll(0, clocks_.size());
  ++part_;
}

std::string GpuAsync::EndBlock() const {
  const auto known = [&](const Region& region) {
    const auto first = clocks_.begin() + static_cast<ptrdiff_t>(Global(0));
    return std::any_of(first, first + warps_,
                       [&](const Clock& clock) { return clock[region.slot] > region.phase; });
  };
  for (const auto& [place, regions] : regions_) {
    if (place.first != rank_) continue;
    if (!std::all_of(regions.begin(), regions.end(), known)) {
      return "with copies to shared memory under way";
    }
  }
  return "";
}

}  // namespace mlc::ir
