// mlc-tune --replay-only: the result of a tuning from the records of a log alone. Starts no server
// and no worker, measures nothing, needs no device, and only reads the log, which may be a snapshot
// or one that a server writes. Use it from one thread.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

// Prints to standard output. kOk if every task of the model has a record, else kNoResult. Errors as
// those of mlc-compile for the model's file, the target and the log.
Result<ExitCode> ReplayOnly(const TuneSession& session);

}  // namespace mlc::client
