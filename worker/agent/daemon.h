// Connects an engine with a server until the worker is drained. The server sees each target of the
// engine as a worker of its own. It runs on one thread; gRPC has its own. Not thread-safe.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rpc/channel.h"
#include "base/status.h"
#include "worker/engine/engine_process.h"

namespace mlc::worker {

struct DaemonOptions {
  transport::ChannelOptions server;
  std::string name;   // stable name of this worker; each target of several gets a suffix
  std::string build;  // build id of the compiler
  std::string state;  // folder for unacknowledged results; empty: kept in memory only
  std::string gate;   // lock file to use while the server names none
  int slots = 32;     // of each target
  bool once = false;  // exit when the server has no more work
  bool exit_with_parent = false;
  int64_t drain_grace_ms = 30'000;
  int signals = -1;  // a signalfd; one signal drains, a second one ends
  std::shared_ptr<spdlog::logger> logger;
};

// "-cpu" or "-gpu".
std::string SuffixOf(const DeviceDescription& device);
// The worker name of one target at the server: `name` if there is only one target, else with a
// suffix, which is "-gpu2" for a second class of GPUs.
std::string DeviceSlotName(const std::string& name, const std::vector<DeviceDescription>& devices,
                           size_t slot);

// The lock file that the server names for timings. Only a server at a Unix socket of this host may
// name one, because the path is a file of this host. The worker does not create it.
GateFile GateNamedBy(const std::string& server_address, const std::string& path);

// Returns OK after draining. CANCELLED after a second signal. ABORTED, after draining, if the clock
// was set back: another process should continue.
Status RunDaemon(const DaemonOptions& options, EngineProcess& engine);

}  // namespace mlc::worker
