// Tuning on a server and a worker of our own: they end with us.
#pragma once

#include "base/exit_code.h"
#include "base/status.h"
#include "client/tune/order.h"
#include "client/tune/tune_session.h"
#include "compiler/target/target.h"

namespace mlc::client {

Result<ExitCode> TuneHere(const TuneSession& session);

}  // namespace mlc::client
