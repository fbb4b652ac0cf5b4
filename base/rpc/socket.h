// Addresses and sockets of this project: "unix:PATH", "HOST:PORT", "[V6]:PORT". Thread-safe.
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
// Whether only this machine can reach it: a Unix socket, 127.0.0.0/8, ::1 or "localhost".
bool IsLocal(const std::string& address);

// The address of the peer, without port; of IPv6 the network of 64 bits, all of
// which one host may have. Empty for a Unix socket.
std::string SourceOf(int fd);

// INVALID_ARGUMENT for what is neither of the three forms, or has no such port.
Status CheckAddress(const std::string& address);

// A listening socket, not blocking. For unix:PATH, a socket that a dead server left is replaced.
// `bound` becomes the address with the port that was chosen. INVALID_ARGUMENT, UNAVAILABLE.
Result<Descriptor> ListenOn(const std::string& address, std::string& bound);
// A connected, blocking socket whose operations end after `timeout_ms`. INVALID_ARGUMENT,
// UNAVAILABLE.
Result<Descriptor> ConnectTo(const std::string& address, int timeout_ms);

}  // namespace mlc::transport
