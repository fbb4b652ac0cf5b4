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
  proto::SubmitUserKernelRequest request;  // has a kernel unless the job searches
  bool searches = true;
  server::ModelInfo model;
};

// Reads the files that the options name. Errors of the functions that read them.
Result<TuneRequest> TuneRequestOf(const TuneOptions& options, const target::Target& target);
Result<proto::SubmitJobReply> Submit(TunerClient& client, const TuneRequest& tune);

// Threads of the kernels: as requested, or the number of usable CPUs.
int ThreadsOf(const TuneOptions& options);
// The name of the logged-in user, in characters that servers accept in names; for servers that do
// not authenticate callers.
std::string UserName();

}  // namespace mlc::client
