// A space: the knobs of one family for one workload on one target, with finite domains. Points are
// tuples of domain indices. Domains are small (the whole product is at most 2^20 points), ordered
// so that neighbours in a domain behave alike, and every illegal point has a reason. A value;
// thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/space/config.h"

namespace mlc::schedule {

// Why a config is not generated. Counted and shown to users; never an error.
enum class RejectReason : uint8_t {
  kNone,
  kRegisters,         // more vector registers than the target has
  kTooFewChains,      // too few independent accumulators to hide the FMA latency
  kTileExceedsShape,  // the tile is larger than the problem needs
  kCodeSize,          // unrolled body past the limit of one basic block
  kCache,             // working set far beyond the cache it is meant for
  kParallelism,       // fewer chunks than threads, or far too many
  kRedundant,         // the same kernel as another point
  kTolerance,         // the algorithm's error exceeds the workload's tolerance
  kUnsupported,       // the family does not cover this shape
};
inline constexpr int kRejectReasonCount = 10;
// One word for logs ("registers"), and one sentence for people.
std::string_view ToText(RejectReason reason);
std::string_view Explain(RejectReason reason);

struct Knob {
  std::string name;
  std::vector<int64_t> domain;
};

struct Space {
  std::string family;
  int version = 1;
  std::vector<Knob> knobs;

  int64_t NumPoints() const;
  // The point with the given rank, 0 <= rank < NumPoints(); mixed radix, last knob fastest.
  Config At(int64_t rank) const;
  // The rank of a config of this space, or -1.
  int64_t RankOf(const Config& config) const;
};

}  // namespace mlc::schedule
