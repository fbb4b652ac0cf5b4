// The addresses "unix:PATH", "HOST:PORT" and "[V6]:PORT", and their sockets. Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::transport {

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

// The host of an address, without brackets; empty for a Unix socket.
std::string HostOf(const std::string& address);
// Whether only this machine can reach the address: a Unix socket, 127.0.0.0/8, ::1, "localhost".
bool IsLocal(const std::string& address);

// The address of the peer without port; for IPv6 the network of 64 bits, because one host may have
// all of its addresses. Empty for a Unix socket.
std::string SourceOf(int fd);

// INVALID_ARGUMENT if the address has none of the three forms, or no valid port.
Status CheckAddress(const std::string& address);

// Returns a listening, non-blocking socket. For unix:PATH it replaces a socket that a dead server
// left. `bound` becomes the address with the port that was chosen. INVALID_ARGUMENT, UNAVAILABLE.
Result<Descriptor> ListenOn(const std::string& address, std::string& bound);
// Returns a connected, blocking socket whose operations end after `timeout_ms`. INVALID_ARGUMENT,
// UNAVAILABLE.
Result<Descriptor> ConnectTo(const std::string& address, int timeout_ms);

}  // namespace mlc::transport
