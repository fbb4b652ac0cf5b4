// Jobs of a remote server: submits one, or follows any. Use it from one thread.
#pragma once

#include <string>

#include "base/exit_code.h"
#include "base/status.h"
#include "client/service/tuner_client.h"
#include "client/tune/tune_session.h"

namespace mlc::client {

// Submits the job of the options, and follows it unless --detach is given.
Result<ExitCode> TuneRemote(const TuneSession& session);
// Follows the job with this id.
Result<ExitCode> Watch(const TuneSession& session, TunerClient& client, const std::string& job);

}  // namespace mlc::client
