// The server side of TLS over a socket, for listeners without gRPC. Certificates are reloaded as
// for gRPC (tls_files.h). A client may present a certificate, which is checked. Sessions are never
// resumed, so every connection is checked. A server is thread-safe; a stream belongs to one thread.
// Uses OpenSSL.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/openssl_handles.h"
#include "base/tls/tls_files.h"

namespace mlc::transport {

// The contents of the client's certificate, which the authority has signed; empty without one.
struct TlsPeer {
  std::string certificate;  // PEM
  std::vector<std::string> uris;
};

// One connection after its handshake. Borrows the socket.
class TlsStream {
 public:
  using Time = std::chrono::steady_clock::time_point;

  TlsStream(int fd, openssl::Ssl ssl);

  const TlsPeer& peer() const { return peer_; }
  // True if decrypted bytes can be read without waiting.
  bool has_pending() const;
  // At least one byte; 0 at the end; -1 for an error, or if nothing came until the deadline.
  ssize_t Read(char* to, size_t size, Time deadline);
  // Writes all bytes; false if it fails.
  bool Write(std::string_view bytes, Time deadline);
  // Tells the client that the stream has ended, without waiting.
  void Close();

 private:
  const int fd_;
  const openssl::Ssl ssl_;
  TlsPeer peer_;
};

// Waits until the socket can be read or written (POLLIN, POLLOUT). False at the deadline.
bool WaitForSocket(int fd, short events, std::chrono::steady_clock::time_point deadline);

class TlsServer {
 public:
  // A client without a certificate is refused if `certificate_needed`. Errors of TlsFiles::Open.
  static Result<std::unique_ptr<TlsServer>> Open(const TlsPaths& paths, bool certificate_needed,
                                                 TlsFiles::Heard heard);

  // The handshake on a socket that does not block. UNAVAILABLE if it fails or takes too long.
  Result<std::unique_ptr<TlsStream>> Accept(int fd, TlsStream::Time deadline);

 private:
  explicit TlsServer(bool certificate_needed) : certificate_needed_(certificate_needed) {}
  Result<openssl::Context> MakeContext() const;
  openssl::Ssl NewSsl() MLC_EXCLUDES(mutex_);

  const bool certificate_needed_;
  Mutex mutex_;
  openssl::Context context_ MLC_GUARDED_BY(mutex_);
  std::atomic<bool> is_old_ = false;  // the files have changed since the context was made
  std::unique_ptr<TlsFiles> files_;   // goes first: reports to the others
};

}  // namespace mlc::transport
