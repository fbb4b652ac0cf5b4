// The happens-before order of an interpreted GPU kernel. Blocks run one after another; blocks of a
// cluster run in parts, from one cluster barrier to the next, and take turns within a part where
// they wait for each other at mbarriers, which order nothing here. Every barrier, part, block and
// launch advances a clock, so that a time stamp shows what came before it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlc::ir {

inline constexpr int kWarpThreads = 32;
inline constexpr int kWarpgroupThreads = 128;  // of a warpgroup_mma

enum class Order : uint8_t { kOrdered, kThreadRace, kBlockRace };

// The last accessor of an element: a thread's number or one of these; warp w is kOneWarp - w.
inline constexpr int16_t kManyWarps = -1;
inline constexpr int16_t kOneWarp = -2;

class GpuClock {
 public:
  // The moments from `first` to `last`, of one block.
  struct Span {
    uint32_t first;
    uint32_t last;
  };

  // The state of a block while other blocks of its cluster run.
  struct Place {
    uint32_t block = 0;
    std::vector<bool> is_early;
    int early = 0;
  };

  void StartLaunch(int threads);
  // `awaits`: the launch has await_inputs, before which each thread is early.
  void StartBlock(bool awaits);
  Place Leave() const { return {block_, is_early_, early_}; }
  // Continues after a cluster barrier. `seen`: what the blocks of the cluster published before it.
  void Resume(const Place& place, const std::vector<Span>& seen);
  // Continues the block whose clock `own` was when another one's turn came.
  void Return(const GpuClock& own);
  void Barrier();
  void WarpBarrier(int warp) { warps_[static_cast<size_t>(warp)] = now_; }  // after Advance
  void Advance() { ++now_; }
  // The warp has learnt, at an mbarrier, of what another one did before a time.
  void See(int warp, int other, uint32_t before);
  void AwaitInputs(int thread);
  bool Early(int thread) const { return early_ > 0 && is_early_[static_cast<size_t>(thread)]; }

  uint32_t now() const { return now_; }
  uint32_t launch() const { return launch_; }
  uint32_t block() const { return block_; }
  uint32_t part() const { return part_; }        // start of the time in which this block ran
  uint32_t barrier() const { return barrier_; }  // time of the last barrier, or the block's start
  uint32_t warp_barrier(int warp) const { return warps_[static_cast<size_t>(warp)]; }

  // The order of an access of `who` at time `when` relative to an access of `thread` of this block
  // now.
  Order OrderOf(int who, uint32_t when, int thread) const {
    if (when < launch_) return Order::kOrdered;
    if (Elsewhere(when)) return Acquired(when) ? Order::kOrdered : Order::kBlockRace;
    if (when < barrier_ || who == thread) return Order::kOrdered;
    const int warp = thread / kWarpThreads;
    const bool same_warp = who >= 0 ? who / kWarpThreads == warp : who == kOneWarp - warp;
    if (same_warp && when < warps_[static_cast<size_t>(warp)]) return Order::kOrdered;
    if (who == kManyWarps) return Order::kThreadRace;
    const int other = who >= 0 ? who / kWarpThreads : kOneWarp - who;
    return when < seen_[SeenAt(warp, other)] ? Order::kOrdered : Order::kThreadRace;
  }
  // Whether that was another block's time, or an earlier part of this one.
  bool Elsewhere(uint32_t when) const {
    return when < part_ || (!turns_.empty() && OfOthers(when));
  }
  // True if an arrival or cluster barrier of this block has made accesses at `when` visible.
  bool Acquired(uint32_t when) const;
  void Acquire(const std::vector<Span>& spans);
  // What this block publishes when it arrives: its own part, without the turns of others, and what
  // it has acquired.
  void Publish(std::vector<Span>* spans) const;

 private:
  bool OfOthers(uint32_t when) const;
  size_t SeenAt(int warp, int other) const {
    return static_cast<size_t>(warp) * warps_.size() + static_cast<size_t>(other);
  }

  uint32_t now_ = 0;
  uint32_t launch_ = 0;
  uint32_t block_ = 0;
  uint32_t part_ = 0;
  uint32_t barrier_ = 0;
  std::vector<uint32_t> warps_;
  std::vector<uint32_t> seen_;  // by warp and other warp: See
  std::vector<Span> acquired_;  // in order of time, disjoint
  std::vector<Span> turns_;     // of other blocks in this part, in order of time
  std::vector<bool> is_early_;
  int early_ = 0;
};

}  // namespace mlc::ir
