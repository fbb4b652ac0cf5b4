// Messages of workers and about them: to values of the server and back. What is moved in gives its
// texts away. Pure.
#pragma once

#include <string>
#include <vector>

#include "proto/worker.pb.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

// `malformed` gets the ids of results that have other than 16 bytes: they are of no trial, and are
// left out, as are such trials that the worker holds.
WorkerCall FromWire(proto::SynchronizeRequest&& wire, std::vector<std::string>& malformed);

proto::SynchronizeReply ToWire(WorkerOrders&& orders);
proto::ListWorkersReply ToWire(std::vector<WorkerLine>&& workers);

}  // namespace mlc::server
