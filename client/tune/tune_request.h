// The request of mlc-tune: the tasks of a model, or a user-supplied kernel. Use it from one thread.
#pragma once

#include <string>

#include "base/status.h"
#include "client/service/tuner_client.h"
#include "client/tune/options/tune_options.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"
#include "server/state/job_figures.h"

namespace mlc::client {

struct TuneRequest {
  proto::SubmitUserKernelRequest
      request;           // has a kernel or a specification unless it is of a model
  bool searches = true;  // a model
  server::ModelInfo model;
};

// With --kernel and without --target, sets the target by the kernel's language. Errors of
// ReadKernelFile.
Status SetKernelTarget(TuneOptions& options);
// Reads the files that the options name. Errors of the functions that read them.
Result<TuneRequest> TuneRequestOf(const TuneOptions& options, const target::Target& target);
Result<proto::SubmitJobReply> Submit(TunerClient& client, const TuneRequest& tune);

// Threads of the kernels: as requested, or the number of usable CPUs.
int ThreadsOf(const TuneOptions& options);
// The name of the logged-in user, in characters that servers accept in names; for servers that do
// not authenticate callers.
std::string UserName();

}  // namespace mlc::client
