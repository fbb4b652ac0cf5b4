// The input of every mode of mlc-tune. Borrows what it refers to; use it from one thread.
#pragma once

#include "base/rpc/channel.h"
#include "client/progress/progress_output.h"
#include "client/tune/interrupt.h"
#include "client/tune/options/tune_options.h"

namespace mlc::client {

struct TuneSession {
  const TuneOptions& options;
  transport::ChannelOptions server;  // where --server is
  ProgressForm progress;
  Interrupt& interrupt;
};

}  // namespace mlc::client
