// The stream that shows a server that the worker is alive, and over which the server wakes the
// worker. It is open until it breaks or this object is destroyed. Threads of gRPC handle its
// messages and only write to a descriptor. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "proto/worker.grpc.pb.h"

namespace mlc::worker {

class WorkerSession {
 public:
  // Opens the stream. Every message and the end of the stream add 1 to the eventfd. Borrows stub
  // and descriptor.
  static std::unique_ptr<WorkerSession> Start(proto::Workers::Stub& stub, const std::string& worker,
                                              const std::string& incarnation, int eventfd);
  virtual ~WorkerSession() = default;  // cancels, and waits for the stream's end
  virtual bool ended() const = 0;
  // True if a retry cannot succeed, because the server does not have this call or denies it.
  // REQUIRES: ended().
  virtual bool failed_permanently() const = 0;
  virtual const std::string& incarnation() const = 0;
};

}  // namespace mlc::worker
