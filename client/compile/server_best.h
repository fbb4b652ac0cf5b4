// One request to a server for all tasks of a model, and its reply as a source of kernels. Pure.
#pragma once

#include <memory>

#include "base/status.h"
#include "client/compile/choose_kernels.h"
#include "client/compile/kernel_source.h"
#include "compiler/graph/program.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// Builds the request. It names the families that this build generates, and asks for similar
// workloads and user-supplied kernels unless options exclude them.
proto::BestRequest BestRequestOf(const graph::Program& program, const target::Target& target,
                                 Transfer transfer, UserKernels user_kernels = UserKernels::kUse);
// INTERNAL if the reply does not belong to the request of this program. Copies what it needs.
Result<std::unique_ptr<KernelSource>> MakeServerSource(const graph::Program& program,
                                                       const proto::BestReply& reply);

}  // namespace mlc::client
