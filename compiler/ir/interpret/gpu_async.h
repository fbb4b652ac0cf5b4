// What orders the copies of tiles and the products that read them while the blocks of a cluster of
// a GPU kernel are interpreted: their mbarriers, what each warp knows of the others, and who reads
// which tile. A kernel fails if it could fail under any timing of its roles, whatever order they
// run in here. A block alone is a cluster of one. Not thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expr.h"

namespace mlc::ir {

class GpuAsync {
 public:
  // A barrier of the block of that rank.
  struct Key {
    int rank;
    BufferId buffer;
    int64_t index;
    auto operator<=>(const Key&) const = default;
  };

  // `warps`: of each block.
  void StartCluster(int warps, int blocks);
  // The block of that rank runs: what follows, and the numbers of warps, are of it.
  void Enter(int rank) { rank_ = rank; }
  // Each returns what is wrong, empty where nothing is.
  std::string Init(const Key& key, int64_t arrivals);
  // `before`: until when the warp's other accesses to memory count as done.
  std::string Arrive(const Key& key, int warp, int64_t bytes, uint32_t before);
  // *done: the phase of the parity is complete; the warp then knows what those who arrived knew.
  std::string Wait(const Key& key, int warp, int parity, bool* done);
  // What the warp knows of another one's accesses: those before this time.
  uint32_t KnownUntil(int warp, int other) const;
  int warps() const { return warps_; }
  // A copy into elements begin .. end of a buffer of the barrier's block, by a thread of the warp,
  // and its arrival.
  std::string Copy(BufferId buffer, int64_t begin, int64_t end, int warp, const Key& key,
                   int64_t bytes);
  bool IsTile(BufferId buffer) const { return regions_.contains({rank_, buffer}); }
  // A product of the four warps from `warp` on that reads the elements begins, and has ended.
  std::string BeginRead(BufferId buffer, int64_t begin, int64_t end, int warp);
  void EndRead(BufferId buffer, int64_t begin, int64_t end, int warp);
  // A barrier of the whole block, or of all blocks: every warp knows what each knew.
  void BlockBarrier();
  void ClusterBarrier();
  std::string EndBlock() const;
  // The warp makes tensor maps for its copies; false if another one has.
  bool MakeMaps(int warp);
  bool HasMaps(int warp) const { return map_makers_[static_cast<size_t>(rank_)] == warp; }
  // Grows whenever a barrier changes.
  int64_t changes() const { return changes_; }

 private:
  // By warp of the cluster: how many of its arrivals are known; then, by barrier: how many phases.
  using Clock = std::vector<uint32_t>;
  struct Barrier {
    int64_t arrivals = 1;
    int64_t pending = 1;  // of the current phase
    int64_t bytes = 0;    // announced and not come
    uint32_t phase = 0;
    size_t slot = 0;       // in clocks
    int part = 0;          // that began it
    Clock arriving, seen;  // in the current phase; in those that are complete
  };
  struct Reader {
    size_t warp;      // of the cluster
    uint32_t moment;  // the reader's count of arrivals; kUnderWay until the product ends
  };
  struct Region {
    int64_t begin, end;
    size_t slot;
    uint32_t phase;
    std::vector<Reader> readers;
  };

  static void Join(Clock& to, const Clock& from);
  // Null where it does not exist, or is of another block and began after the last barrier of the
  // cluster; Unknown says which.
  Barrier* Find(const Key& key);
  std::string Unknown(const Key& key) const;
  size_t Global(int warp) const {
    return static_cast<size_t>(rank_) * static_cast<size_t>(warps_) + static_cast<size_t>(warp);
  }
  std::vector<Region>& RegionsOf(BufferId buffer) { return regions_[{rank_, buffer}]; }
  void JoinAll(size_t first, size_t count);
  void CompleteIfReady(Barrier& barrier);
  bool Free(const Region& region, int warp) const;

  int warps_ = 0;
  int rank_ = 0;
  int part_ = 0;  // between barriers of the cluster
  std::map<Key, Barrier> barriers_;
  std::vector<Clock> clocks_;                    // by warp; its own entry counts its arrivals
  std::vector<std::vector<uint32_t>> arrivals_;  // by warp: `before` of each
  std::map<std::pair<int, BufferId>, std::vector<Region>> regions_;
  std::vector<int> map_makers_;  // by rank: a warp, or -1
  int64_t changes_ = 0;
};

}  // namespace mlc::ir
