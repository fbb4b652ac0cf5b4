// Where attention's operands lie in memory. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule::gpu {

// The place of a value that is an operand of the workload, seen through views and transposes.
struct AttentionPlace {
  int operand = 0;
  int64_t offset = 0;            // elements, as strides
  std::vector<int64_t> strides;  // one for each dimension of the value
};

// Empty if the value is computed.
std::optional<AttentionPlace> PlaceOf(const graph::Workload& workload, graph::ValueId value);

}  // namespace mlc::schedule::gpu
