// What orders the copies of tiles and the products that read them while a block of a GPU kernel is
// interpreted: its mbarriers, what each warp knows of the others, and who reads which tile. A
// kernel fails if it could fail under any timing of its roles, whatever order they run in here.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expr.h"

namespace mlc::ir {

class GpuAsync {
 public:
  using Key = std::pair<BufferId, int64_t>;

  void StartBlock(int warps);
  // Each returns what is wrong, empty where nothing is.
  std::string Init(const Key& key, int64_t arrivals);
  // `before`: until when the warp's other accesses to memory count as done.
  std::string Arrive(const Key& key, int warp, int64_t bytes, uint32_t before);
  // *done: the phase of the parity is complete; the warp then knows what those who arrived knew.
  std::string Wait(const Key& key, int warp, int parity, bool* done);
  // What the warp knows of another one's accesses: those before this time.
  uint32_t KnownUntil(int warp, int other) const;
  int warps() const { return warps_; }
  // A copy into elements begin .. end of a buffer, by a thread of the warp, and its arrival.
  std::string Copy(BufferId buffer, int64_t begin, int64_t end, int warp, const Key& key,
                   int64_t bytes);
  bool IsTile(BufferId buffer) const { return regions_.contains(buffer); }
  // A product of the four warps from `warp` on that reads the elements begins, and has ended.
  std::string BeginRead(BufferId buffer, int64_t begin, int64_t end, int warp);
  void EndRead(BufferId buffer, int64_t begin, int64_t end, int warp);
  // A barrier of the whole block: every warp knows what each knew.
  void BlockBarrier();
  std::string EndBlock() const;
  // The warp makes tensor maps for its copies; false if another one has.
  bool MakeMaps(int warp);
  bool HasMaps(int warp) const { return map_maker_ == warp; }
  // Grows whenever a barrier changes.
  int64_t changes() const { return changes_; }

 private:
  // By warp: how many of its arrivals are known; then, by barrier: how many phases.
  using Clock = std::vector<uint32_t>;
  struct Barrier {
    int64_t arrivals = 1;
    int64_t pending = 1;  // of the current phase
    int64_t bytes = 0;    // announced and not come
    uint32_t phase = 0;
    size_t slot = 0;       // in clocks
    Clock arriving, seen;  // in the current phase; in those that are complete
  };
  struct Reader {
    int warp;
    uint32_t moment;  // the reader's count of arrivals; kUnderWay until the product ends
  };
  struct Region {
    int64_t begin, end;
    size_t slot;
    uint32_t phase;
    std::vector<Reader> readers;
  };

  static void Join(Clock& to, const Clock& from);
  Barrier* Find(const Key& key);
  void CompleteIfReady(Barrier& barrier);
  bool Free(const Region& region, int warp) const;

  int warps_ = 0;
  std::map<Key, Barrier> barriers_;
  std::vector<Clock> clocks_;                    // by warp; its own entry counts its arrivals
  std::vector<std::vector<uint32_t>> arrivals_;  // by warp: `before` of each
  std::map<BufferId, std::vector<Region>> regions_;
  int map_maker_ = -1;  // a warp
  int64_t changes_ = 0;
};

}  // namespace mlc::ir
