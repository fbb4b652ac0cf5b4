// The stream that tells a server that a worker is there, and by which the server wakes it: held
// open until it breaks or this object goes. Its messages are handled on threads of gRPC, which only
// write to a descriptor. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "proto/worker.grpc.pb.h"

namespace mlc::worker {

class WorkerSession {
 public:
  // Every message, and the end of the stream, add 1 to the eventfd. Borrows stub and descriptor.
  static std::unique_ptr<WorkerSession> Start(proto::Workers::Stub& stub, const std::string& worker,
                                              const std::string& incarnation, int eventfd);
  virtual ~WorkerSession() = default;  // cancels, and waits for the stream's end
  virtual bool ended() const = 0;
  // It makes no sense to try again: the server has no such call, or forbids it. REQUIRES: ended().
  virtual bool failed_permanently() const = 0;
  virtual const std::string& incarnation() const = 0;
};

}  // namespace mlc::worker
