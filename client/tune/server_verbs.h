// Runs the subcommands of mlc-tune (client/tune/options/tune_verbs.h), which are requests to a
// server. Use it from one thread.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

Result<ExitCode> AtServer(const TuneSession& session);

}  // namespace mlc::client
