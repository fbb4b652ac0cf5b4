// mlc-tune --cuda-kernel: a user-supplied kernel, and the workload that it is for,
// from their files. Thread-safe.
#pragma once

#include "base/status.h"
#include "client/model/model_variants.h"
#include "client/tune/options/tune_options.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// The file's workload as the only task of a model. INVALID_ARGUMENT with the place of a mistake.
Result<ModelTasks> ReadWorkload(const TuneOptions& options);
// INVALID_ARGUMENT for a file that cannot be read, or a kernel that no server would take.
Result<proto::UserKernel> ReadCudaKernel(const TuneOptions& options, const target::Target& target);

}  // namespace mlc::client
