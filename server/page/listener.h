// Where browsers come in: a socket, TLS if there are certificates, HTTP/1.1. Everything that a
// client may use up is bounded: connections in all and of one address, bytes and time of a request,
// time to take an answer. A connection has a thread of its own, which gives way to all other
// threads of the server. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/tls/tls_server.h"
#include "server/page/http.h"

namespace mlc::server::page {

struct ListenerOptions {
  std::string address;                        // HOST:PORT; port 0 picks one
  std::unique_ptr<transport::TlsServer> tls;  // without: plain HTTP
  int most_connections = 320;
  int most_of_one_address = 288;
  int64_t handshake_ms = 5'000;
  int64_t idle_ms = 15'000;     // until a request begins
  int64_t request_ms = 10'000;  // from its first to its last byte
  int64_t answer_ms = 30'000;   // until an answer, or a piece of a stream, is taken
  size_t request_bytes = 16 << 10;
};

class HttpListener {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;

  // Errors of Acceptor::Listen.
  static Result<std::unique_ptr<HttpListener>> Open(ListenerOptions options);
  virtual ~HttpListener() = default;

  // With the port that was chosen.
  virtual const std::string& address() const = 0;
  // `handler` runs on many threads at the same time. Once.
  virtual void Start(Handler handler) = 0;
  // Connections that are open.
  virtual int connections() const = 0;
  // Closes all connections; streams must have been told to end. Once.
  virtual void Stop() = 0;
};

}  // namespace mlc::server::page
