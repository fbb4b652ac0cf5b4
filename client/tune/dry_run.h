// mlc-tune --dry-run: reports what tuning a model would do, and everything that prevents it. It
// starts no server and no worker, opens no log and measures nothing. Use it from one thread.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

// Prints to standard output. kOk if the model can be tuned, kBadInput if not. Errors as TuneLocal's
// for the model's file, the target and options.
Result<ExitCode> DryRun(const TuneSession& session);

}  // namespace mlc::client
