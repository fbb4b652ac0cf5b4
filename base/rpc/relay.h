// Passes bytes between the connections of a server and gRPC, as base/rpc/inbound_limiter.h permits.
// Closes floods, silent connections and, if there are too many, the oldest unauthenticated ones.
// gRPC gets a connection with its first byte. Has one thread. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/rpc/inbound_limiter.h"
#include "base/rpc/socket.h"
#include "base/status.h"

namespace mlc::transport {

struct RelayOptions {
  bool limit_unauthenticated = true;  // false: every connection counts as authenticated (no TLS)
  int max_unauthenticated = 2'048;
  InboundLimits terms;
};

class Relay {
 public:
  // Takes ownership of a descriptor that stands for one connection. The peer name that gRPC reports
  // for it is the connection's name in Received().
  using Taker = std::function<void(int fd)>;
  struct Counts {
    int64_t silent = 0;
    int64_t unauthenticated = 0;
    int64_t evicted = 0;  // unauthenticated connections closed in favour of new ones
    int64_t floods = 0;
  };

  // RESOURCE_EXHAUSTED without descriptors.
  static Result<std::unique_ptr<Relay>> Start(RelayOptions options, Taker taker);
  ~Relay();

  // Takes ownership of an accepted connection, which does not block.
  void Take(int fd);
  // A call of that peer with a message of `bytes` bytes was admitted. `connection` is what
  // Opened() tells for the connection from now on; null if it is never told.
  void Received(std::string_view peer, const void* connection, size_t bytes);
  // A caller began a call on that connection: an unauthenticated one if Received() told none such.
  void Opened(const void* connection);
  // Connections closed since the start; and the address of the last flood.
  Counts counts() const;
  std::string last_flood() const;
  // Connections that are open.
  size_t size() const;
  // Hands over no more connections; those that gRPC has stay open.
  void StopHandingOver();
  // Passes on what gRPC sent last, for a second at most, and closes all connections. Call it once.
  void Stop();

 private:
  struct Link;
  enum class Side : uint8_t { kOuter = 0, kInner = 1 };

  Relay(RelayOptions options, Taker taker, Descriptor poll, Descriptor stop);
  void Run();
  void Handle(uint64_t tag, uint32_t events);
  bool Up(Link& link);
  bool Open(Link& link);
  bool Down(Link& link);
  void Watch(Link& link);
  void WatchSide(Link& link, Side side, uint32_t wanted);
  void WakePaused();
  void CheckLinks();
  void MakeRoom();
  void Close(uint64_t id);
  bool Done() const;

  const RelayOptions options_;
  const Taker taker_;
  const Descriptor poll_;
  const Descriptor stop_;    // an eventfd
  const std::string names_;  // what the names of our sockets begin with

  // Guards links and accounts: other threads add links and attribute bytes in accounts. Held while
  // bytes are passed on, which never blocks.
  mutable std::mutex mutex_;
  InboundLimiter limiter_;
  std::map<uint64_t, std::unique_ptr<Link>> links_;
  std::unordered_map<const void*, uint64_t> by_connection_;  // see Received()
  uint64_t numbers_ = 0;
  uint64_t first_paused_ = 0;  // whose turn it is
  bool any_paused_ = false;
  int unauthenticated_ = 0;  // at most; counted anew when there are many
  Counts counts_;
  std::string last_flood_;
  bool hands_over_ = true;
  bool stopping_ = false;
  int64_t end_ms_ = 0;
  std::vector<char> buffer_;
  std::thread thread_;
};

}  // namespace mlc::transport
