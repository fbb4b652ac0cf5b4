// Why a config is fast or slow, in words: what it computes and moves against what the device can
// do, which cache level each block needs, and what else the space holds. Pure.
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

// Whether this program makes the kernel that was measured: old versions of a family are history.
bool CanGenerate(const db::Record& record);

struct Explanation {
  std::string text;                        // lines: where it is from, what it computes and moves
  std::string bottleneck;                  // one line; empty if unknown
  std::optional<schedule::Config> config;  // if its space holds it and takes it
};

// FAILED_PRECONDITION if the record's config is of a family or version that this program does not
// know, INVALID_ARGUMENT if it does not fit the workload.
Result<Explanation> ExplainConfig(const graph::Workload& workload, const target::Target& target,
                                  const db::Record& record);
// The same as one text, with the space.
Result<std::string> Explain(const graph::Workload& workload, const target::Target& target,
                            const db::Record& record);

// How many points of a family's space there are, and, of those that were looked at, how many are
// rejected for each reason. Spaces beyond `max_points` are sampled evenly.
struct SpaceCounts {
  int64_t points = 0;
  int64_t seen = 0;
  std::array<int64_t, schedule::kRejectReasonCount> by_reason{};  // kNone: legal
};
// REQUIRES: family.Accepts(workload, target).
SpaceCounts CountSpace(const graph::Workload& workload, const target::Target& target,
                       const schedule::Family& family, int64_t max_points);

// How many points of the family's space are legal, and why the others are not. Spaces beyond
// `max_points` are sampled evenly.
std::string ExplainSpace(const graph::Workload& workload, const target::Target& target,
                         const schedule::Config& config, int64_t max_points = 200'000);

}  // namespace mlc::report
