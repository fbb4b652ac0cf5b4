// Why a config is fast or slow, in words: what it computes and moves against what the device can
// do, which cache level each block needs, and what else the space holds. Pure.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"
#include "db/record.h"

namespace mlc::client {

// FAILED_PRECONDITION if the record's config is of a family or version that this program does not
// know, INVALID_ARGUMENT if it does not fit the workload.
Result<std::string> Explain(const graph::Workload& workload, const target::Target& target,
                            const db::Record& record);

// How many points of the family's space are legal, and why the others are not. Spaces beyond
// `max_points` are sampled evenly.
std::string ExplainSpace(const graph::Workload& workload, const target::Target& target,
                         const schedule::Config& config, int64_t max_points = 200'000);

}  // namespace mlc::client
