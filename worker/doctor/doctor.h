// Diagnoses what this machine offers a worker and what prevents its use. Use it from one thread.
#pragma once

#include <string>

#include "base/rpc/channel.h"
#include "compiler/target/target.h"

namespace mlc::worker {

struct Diagnosis {
  std::string report;  // lines for people
  bool usable = true;  // false: the worker refuses to start
};
Diagnosis Diagnose(const target::Target& target);
// Checks whether the server is reachable, and if not, why: address, TLS, clocks. Starts threads of
// gRPC; takes seconds at worst.
Diagnosis DiagnoseServer(const transport::ChannelOptions& server);

}  // namespace mlc::worker
