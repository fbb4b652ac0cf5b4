// What the worker tells the server that it can do, by target. docs: proto/worker.proto.
#pragma once

#include <string>
#include <vector>

#include "proto/worker.pb.h"
#include "worker/device/fleet/gpu_devices.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

// What was found when the worker started.
struct Toolkit {
  std::string llvm;
  std::string nvrtc;  // empty: none
  std::vector<GpuDevice> gpus;
  bool allow_user_kernels = false;  // see EngineOptions
};

// Version of the CUDA compiler that the engine will use; empty without a GPU or a compiler. Opened
// in a child: the daemon itself holds no compiler. REQUIRES: this process has one thread.
std::string FindNvrtc(const EngineOptions& options);

// Of one of the engine's targets. Of several GPUs of its class, the least memory counts: any of
// them may get the trial.
proto::Capabilities CapabilitiesOf(const Toolkit& toolkit, const std::string& target);

}  // namespace mlc::worker
