// Converts messages of workers and about workers to values of the server and back. Arguments taken
// by && lose their strings to the result. Pure.
#pragma once

#include <string>
#include <vector>

#include "proto/worker.pb.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

// Appends to `malformed` the ids of results that do not have 16 bytes. Such results belong to no
// trial and are left out of the call; so are ids of this kind among the trials that the worker
// holds.
WorkerCall FromWire(proto::SynchronizeRequest&& wire, std::vector<std::string>& malformed);

proto::SynchronizeReply ToWire(WorkerOrders&& orders);
proto::ListWorkersReply ToWire(std::vector<WorkerLine>&& workers);

}  // namespace mlc::server
