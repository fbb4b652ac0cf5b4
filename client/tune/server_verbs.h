// The verbs of mlc-tune at a server: --jobs, --watch, --cancel, --workers, --drain, --quarantine,
// --release.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

Result<ExitCode> AtServer(const TuneSession& session);

}  // namespace mlc::client
