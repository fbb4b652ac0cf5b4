// The capabilities of one target that the worker reports to the server. Documented in
// proto/worker.proto. Pure; thread-safe.
#pragma once

#include "proto/worker.pb.h"
#include "worker/device/device_description.h"

namespace mlc::worker {

proto::Capabilities CapabilitiesOf(const DeviceDescription& device);

}  // namespace mlc::worker
