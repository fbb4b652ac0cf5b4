// Tuning on a server and a worker of our own: they end with us.
#pragma once

#include "client/order.h"
#include "client/tune_session.h"
#include "compiler/base/exit_code.h"
#include "compiler/base/status.h"
#include "compiler/target/target.h"

namespace mlc::client {

Result<ExitCode> TuneHere(const TuneSession& session);

}  // namespace mlc::client
