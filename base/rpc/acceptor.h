// Accepts connections and passes them on. The listener of gRPC stops for good if descriptors run
// out once. This one leaves connections in the queue until descriptors are free again, and keeps a
// reserve for the log and everything else. It has its own thread. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/rpc/socket.h"
#include "base/status.h"

namespace mlc::transport {

struct AcceptorOptions {
  int64_t max_descriptors = 0;   // open in the process; 0: its limit less a reserve
  int64_t descriptors_each = 1;  // that a connection takes in the end
};

class Acceptor {
 public:
  // Takes ownership of the descriptor of a connection, which does not block.
  using Taker = std::function<void(int listener, int fd)>;

  // Errors of ListenOn.
  static Result<std::unique_ptr<Acceptor>> Listen(const std::string& address,
                                                  AcceptorOptions options);
  ~Acceptor() { Stop(); }

  // The address, with the port that was chosen.
  const std::string& address() const { return address_; }
  void Start(Taker taker);
  // Accepts no more connections. Those that were handed over stay open.
  void Stop();

  int64_t accepted() const { return accepted_; }
  // How often connections had to wait because descriptors were short.
  int64_t shortages() const { return shortages_; }

 private:
  Acceptor(std::string address, Descriptor listener, Descriptor stop, AcceptorOptions options);
  void Run(const Taker& taker);
  bool MayAccept();

  const std::string address_;
  const AcceptorOptions options_;
  Descriptor listener_;
  Descriptor stop_;  // an eventfd
  std::atomic<int64_t> accepted_ = 0;
  std::atomic<int64_t> shortages_ = 0;
  int64_t open_at_most_ = 0;  // descriptors, by the last count and what came since
  bool counted_ = false;
  bool short_ = false;
  std::thread thread_;
};

// Open descriptors of this process, and its limit.
int64_t OpenDescriptors();
int64_t DescriptorLimit();
// Raises the limit as far as possible, at most to 65,536. RESOURCE_EXHAUSTED below 4,096: a server
// would have to reject workers sooner or later.
Status RaiseDescriptorLimit();

}  // namespace mlc::transport
