// The worker as a service's client: connects an engine with a server until it is drained. One
// thread of its own, besides those of gRPC. Not thread-safe.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

#include "compiler/base/status.h"
#include "worker/engine_process.h"

namespace mlc::worker {

struct DaemonOptions {
  std::string server;  // HOST:PORT or unix:PATH
  std::string name;    // stable name of this worker
  std::string build;   // build id of the compiler
  std::string gate;    // used while the server names none
  int slots = 32;
  bool once = false;  // leave when the server has nothing to do any more
  bool exit_with_parent = false;
  int64_t drain_grace_ms = 30'000;
  int signals = -1;  // a signalfd; one signal drains, a second one ends
  std::shared_ptr<spdlog::logger> logger;
};

// Returns OK after draining. CANCELLED after a second signal.
Status RunDaemon(const DaemonOptions& options, EngineProcess& engine);

}  // namespace mlc::worker
