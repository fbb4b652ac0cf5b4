// What mlc-tune asks of a server: the tasks of a model, or a user-supplied kernel.
#pragma once

#include <string>

#include "base/status.h"
#include "client/progress/job_figures.h"
#include "client/service/tuner_client.h"
#include "client/tune/options/tune_options.h"
#include "compiler/target/target.h"
#include "proto/tuner.pb.h"

namespace mlc::client {

struct TuneRequest {
  proto::SubmitUserKernelRequest request;  // with a kernel or, if it searches, without
  bool searches = true;
  ModelInfo model;
};

// Reads the files that the options name. Errors of the functions that read them.
Result<TuneRequest> TuneRequestOf(const TuneOptions& options, const target::Target& target);
Result<proto::SubmitJobReply> Submit(TunerClient& client, const TuneRequest& tune);

// Of the kernels: as asked for, or as many as CPUs are usable.
int ThreadsOf(const TuneOptions& options);
// Who is logged in, in the letters of the server's names: for servers that cannot tell otherwise.
std::string UserName();

}  // namespace mlc::client
