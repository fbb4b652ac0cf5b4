// Explains why a config is fast or slow: what it computes and moves compared with the peaks of the
// device, the cache level that each block needs, and the rest of its space. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"
#include "db/record.h"

namespace mlc::report {

// True if this program generates the kernel that was measured; it does not for old versions of a
// family.
bool CanGenerate(const db::Record& record);

struct Explanation {
  std::string text;                        // lines: its origin, what it computes and moves
  std::string bottleneck;                  // one line; empty if unknown
  std::optional<schedule::Config> config;  // if it is legal in its space
};

// FAILED_PRECONDITION if the record's config is of a family or version that this program does not
// know, INVALID_ARGUMENT if it does not fit the workload.
Result<Explanation> ExplainConfig(const graph::Workload& workload, const target::Target& target,
                                  const db::Record& record);
// The same as one text, with the space.
Result<std::string> Explain(const graph::Workload& workload, const target::Target& target,
                            const db::Record& record);

// The points of a family's space and, of those that were checked, the number of each reject reason.
// Spaces beyond `max_points` are sampled evenly.
struct SpaceCounts {
  int64_t points = 0;
  int64_t seen = 0;
  std::array<int64_t, schedule::kRejectReasonCount> by_reason{};  // kNone: legal
};
// REQUIRES: family.Accepts(workload, target).
SpaceCounts CountSpace(const graph::Workload& workload, const target::Target& target,
                       const schedule::Family& family, int64_t max_points);

// The number of legal points of the family's space, and why the others are illegal. Spaces beyond
// `max_points` are sampled evenly.
std::string ExplainSpace(const graph::Workload& workload, const target::Target& target,
                         const schedule::Config& config, int64_t max_points = 200'000);

}  // namespace mlc::report
