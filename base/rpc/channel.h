// The way to a server, as every client of ours goes it: TLS with files that are followed, a bearer
// token from a file, keepalive that notices a cut wire, and failures in words. Thread-safe.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "base/tls/certificates.h"

namespace mlc::transport {

class TlsFiles;

struct ChannelOptions {
  std::string address;  // HOST:PORT or unix:PATH
  TlsPaths tls;         // empty: no TLS; its list of revoked certificates is followed
  std::string token_file;
  std::string server_name;  // what the server's certificate says, if not the address's host
};

class Connection {
 public:
  // Reads the files and begins to connect. Errors of CheckAddress, ReadTls and ReadSecret;
  // INVALID_ARGUMENT for a token or a list of revoked certificates without TLS, or one that cannot
  // be used.
  static Result<std::unique_ptr<Connection>> Open(ChannelOptions options);
  // REQUIRES: no other owner of the channel is left.
  ~Connection();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Waits until there is a connection, at most `timeout_ms` by the steady clock. After a failure
  // gRPC makes handshakes only while a caller waits, so callers that retry wait here in between.
  // Where the clock was set back, gRPC rests before it tries again: only a new Connection does so
  // at once.
  bool Await(int64_t timeout_ms) const;
  // Waits until the server is reached, at most `timeout_ms`. UNAVAILABLE, UNAUTHENTICATED with the
  // cause if it is not.
  Status WaitUntilReady(int64_t timeout_ms) const;
  // Why the server cannot be reached, found by trying once more by hand: takes a few seconds at
  // worst. OK if nothing is wrong any more.
  Status Explain() const;

 private:
  explicit Connection(ChannelOptions options);

  const ChannelOptions options_;
  std::unique_ptr<TlsFiles> files_;  // outlives the channel
  std::shared_ptr<grpc::Channel> channel_;
  mutable std::mutex awaiting_;
  mutable grpc::CompletionQueue changes_;  // of the channel's state
  mutable bool watching_ = false;          // a change is waited for
};

}  // namespace mlc::transport
