// mlc-tune --dry-run: what tuning a model would do, and everything that stands in the way. Starts
// no server and no worker, opens no log, measures nothing.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

// Prints to standard output. kOk if the model can be tuned, kBadInput if not. Errors as TuneLocal's
// for the model's file, the target and options.
Result<ExitCode> DryRun(const TuneSession& session);

}  // namespace mlc::client
