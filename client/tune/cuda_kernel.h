// Reads a user-supplied kernel and its workload from their files (mlc-tune --cuda-kernel).
// Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/model/model_variants.h"
#include "client/tune/options/tune_options.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

// A file of at most 1 MiB. INVALID_ARGUMENT if it cannot be read.
Result<std::string> ReadText(const std::string& path);
// Reads the workload as the only task of a model. INVALID_ARGUMENT with the position of the error.
Result<ModelTasks> ReadWorkload(const TuneOptions& options);
// INVALID_ARGUMENT if the file cannot be read, or if no server would accept the kernel.
Result<proto::UserKernel> ReadCudaKernel(const TuneOptions& options, const target::Target& target);

}  // namespace mlc::client
