// Lowering of the role_attention family. Thread-safe.
#pragma once

#include "compiler/schedule/cuda/attention/role_attention_plan.h"

namespace mlc::schedule::gpu {

LoweredKernel LowerRoleAttention(const graph::Workload& workload, const RoleAttentionPlan& plan);

}  // namespace mlc::schedule::gpu
