// Says what this machine offers a worker, and what is in its way.
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
// Whether the server can be reached, and if not, why: address, TLS, clocks. Starts threads of gRPC;
// seconds at worst.
Diagnosis DiagnoseServer(const transport::ChannelOptions& server);

}  // namespace mlc::worker
