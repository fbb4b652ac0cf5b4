// A client's connection to a server: TLS with files that are followed, a bearer token from a file,
// keepalive that notices a cut wire, and errors that name their cause. Thread-safe.
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
  // Reads the files and starts to connect. Errors of CheckAddress, ReadTls and ReadSecret;
  // INVALID_ARGUMENT for a token or a list of revoked certificates without TLS, or for one that
  // cannot be used.
  static Result<std::unique_ptr<Connection>> Open(ChannelOptions options);
  // REQUIRES: no other owner of the channel is left.
  ~Connection();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Waits for a connection, at most `timeout_ms` by the steady clock. After a failure gRPC makes
  // handshakes only while a caller waits, so callers that retry should wait here in between. After
  // the wall clock was set back, gRPC waits before it retries; only a new Connection retries at
  // once.
  bool Await(int64_t timeout_ms) const;
  // Waits until the server is reached, at most `timeout_ms`. Otherwise UNAVAILABLE or
  // UNAUTHENTICATED with the cause.
  Status WaitUntilReady(int64_t timeout_ms) const;
  // Finds out why the server cannot be reached, by connecting step by step; takes at most a few
  // seconds. OK if it can be reached now.
  Status Explain() const;

 private:
  explicit Connection(ChannelOptions options);

  const ChannelOptions options_;
  std::unique_ptr<TlsFiles> files_;  // outlives the channel
  std::shared_ptr<grpc::Channel> channel_;
  mutable std::mutex awaiting_;
  mutable grpc::CompletionQueue changes_;  // of the channel's state
  mutable bool watching_ = false;          // waits for a change
};

}  // namespace mlc::transport
