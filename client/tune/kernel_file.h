// Reads a kernel specification from its files (mlc-tune --kernel): JSON, or TOML with the same
// keys; the source, and the workload that says what the kernel computes. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"
#include "client/model/model_variants.h"
#include "client/tune/options/tune_options.h"
#include "compiler/schedule/kernel_spec/kernel_spec.h"
#include "compiler/target/target.h"

namespace mlc::client {

struct KernelFile {
  schedule::KernelSpec spec;
  ModelTasks tasks;  // one: the workload
};

// INVALID_ARGUMENT, with the file and the place, for files that cannot be read or that no server
// would accept. The workload is that of --workload, else the one that the specification names.
// Files that it names lie beside it.
Result<KernelFile> ReadKernelFile(const TuneOptions& options);
// FAILED_PRECONDITION if the target does not run the kernel's language, or if this machine is to
// run it and has no C compiler.
Status CheckKernelTarget(const schedule::KernelSpec& spec, const TuneOptions& options,
                         const target::Target& target);
// "cpu" or "cuda", by the language. Errors of ReadKernelFile.
Result<std::string> TargetOfKernel(const TuneOptions& options);

}  // namespace mlc::client
