// The worker as a service's client: connects an engine with a server until it is drained. To the
// server, every target of the engine is a worker of its own. One thread of its own, besides those
// of gRPC. Not thread-safe.
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
  std::string state;  // folder for results that are not acknowledged; empty: they die with it
  std::string gate;   // used while the server names none
  int slots = 32;     // of each target
  bool once = false;  // leave when the server has nothing to do any more
  bool exit_with_parent = false;
  int64_t drain_grace_ms = 30'000;
  int signals = -1;  // a signalfd; one signal drains, a second one ends
  std::shared_ptr<spdlog::logger> logger;
};

// "-cpu" or "-gpu".
std::string SuffixOf(const DeviceDescription& device);
// What the server calls the worker of one of its targets: the name alone if there is only one, else
// with its suffix, which is "-gpu2" for a second class of GPUs.
std::string DeviceSlotName(const std::string& name, const std::vector<DeviceDescription>& devices,
                           size_t slot);

// The file that a server may have this worker lock while it times. A server at the other end of a
// network names none: it would choose a path on this host. One on this host gets no file made.
GateFile GateNamedBy(const std::string& server_address, const std::string& path);

// Returns OK after draining. CANCELLED after a second signal. ABORTED, after draining, if the clock
// was set back: another process should go on.
Status RunDaemon(const DaemonOptions& options, EngineProcess& engine);

}  // namespace mlc::worker
