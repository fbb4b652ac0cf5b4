#include "compiler/schedule/space/space.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace mlc::schedule {

namespace {

struct ReasonRow {
  std::string_view word;
  std::string_view sentence;
};

constexpr std::array<ReasonRow, kRejectReasonCount> kReasons = {{
    {"none", "The config is legal."},
    {"registers", "It needs more vector registers than the target has."},
    {"too_few_chains", "It has too few independent accumulators to hide the latency of an FMA."},
    {"tile_exceeds_shape", "Its tile is larger than the problem needs."},
    {"code_size", "Its unrolled body is past the limit of one basic block."},
    {"cache", "Its working set is far larger than the cache it is meant for."},
    {"parallelism", "It makes fewer chunks of work than there are threads, or far too many."},
    {"redundant", "It gives the same kernel as another config."},
    {"tolerance", "The rounding error of its algorithm exceeds the workload's tolerance."},
    {"unsupported", "The family does not cover this shape."},
}};

}  // namespace

std::string_view ToText(RejectReason reason) { return kReasons[static_cast<size_t>(reason)].word; }
std::string_view Explain(RejectReason reason) {
  return kReasons[static_cast<size_t>(reason)].sentence;
}

int64_t Space::NumPoints() const {
  int64_t points = 1;
  for (const Knob& knob : knobs) points *= static_cast<int64_t>(knob.domain.size());
  return points;
}

Config Space::At(int64_t rank) const {
  MLC_CHECK(rank >= 0 && rank < NumPoints()) << "rank " << rank << " of " << family;
  Config config{family, version, {}};
  config.knobs.resize(knobs.size());
  for (size_t i = knobs.size(); i-- > 0;) {
    const auto radix = static_cast<int64_t>(knobs[i].domain.size());
    config.knobs[i] = {knobs[i].name, knobs[i].domain[static_cast<size_t>(rank % radix)]};
    rank /= radix;
  }
  return config;
}

int64_t Space::RankOf(const Config& config) const {
  if (config.family != family || config.version != version) return -1;
  if (config.knobs.size() != knobs.size()) return -1;
  int64_t rank = 0;
  for (size_t i = 0; i < knobs.size(); ++i) {
    const Knob& knob = knobs[i];
    if (config.knobs[i].first != knob.name) return -1;
    const auto found = std::find(knob.domain.begin(), knob.domain.end(), config.knobs[i].second);
    if (found == knob.domain.end()) return -1;
    rank = rank * static_cast<int64_t>(knob.domain.size()) + (found - knob.domain.begin());
  }
  return rank;
}

}  // namespace mlc::schedule
