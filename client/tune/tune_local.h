// Tuning with a server and a worker inside this program, which end with it. Use it from one thread.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/tune_request.h"
#include "client/tune/tune_session.h"
#include "compiler/target/target.h"

namespace mlc::client {

Result<ExitCode> TuneLocal(const TuneSession& session);
// The target of --target on this machine; says which one auto took. `options` names the device
// afterwards, so that what is said and run later means the same one.
Result<target::Target> LocalTargetOf(TuneOptions& options);

}  // namespace mlc::client
