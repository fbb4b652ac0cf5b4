// The gRPC services. Each call becomes one call of the Tuner. The services use gRPC's callback
// interface, so that no thread waits for a worker or a watcher. Thread-safe.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/wire/grpc_status.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "server/security/access_control.h"
#include "server/security/call_load.h"
#include "server/tuner/tuner.h"

namespace mlc::server {

// Both borrow all arguments, which must outlive every call.
std::unique_ptr<grpc::Service> MakeTunerService(Tuner& tuner, const AccessControl& access,
                                                CallLoad& load, const Clock& clock);
std::unique_ptr<grpc::Service> MakeWorkersService(Tuner& tuner, const AccessControl& access,
                                                  CallLoad& load, const Clock& clock);

}  // namespace mlc::server
