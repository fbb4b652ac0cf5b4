// What the worker tells the server that it can do, by target. docs: proto/worker.proto.
#pragma once

#include "proto/worker.pb.h"
#include "worker/device/device_description.h"

namespace mlc::worker {

proto::Capabilities CapabilitiesOf(const DeviceDescription& device);

}  // namespace mlc::worker
