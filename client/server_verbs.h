// mlc-tune --jobs, --watch, --cancel, --workers, --drain, --release: everything but tuning.
#pragma once

#include "client/tune_session.h"
#include "compiler/base/exit_code.h"
#include "compiler/base/status.h"

namespace mlc::client {

Result<ExitCode> AtServer(const TuneSession& session);

}  // namespace mlc::client
