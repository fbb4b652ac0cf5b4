#include "base/rpc/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace mlc::transport {
namespace {

constexpr int kBacklog = 4096;
constexpr int kLastPort = 65535;
constexpr char kUnix[] = "unix:";

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Status Failed(const std::string& what, const std::string& address) {
  return Unavailable(what + " " + address + ": " + strerror(errno));
}

Result<sockaddr_un> UnixAddress(const std::string& address) {
  sockaddr_un where = {};
  where.sun_family = AF_UNIX;
  const std::string path = address.substr(sizeof(kUnix) - 1);
  if (path.empty() || path.size() >= sizeof(where.sun_path)) {
    return InvalidArgument(address + ": a socket's path has 1 to " +
                           std::to_string(sizeof(where.sun_path) - 1) + " characters");
  }
  std::memcpy(where.sun_path, path.data(), path.size());
  return where;
}

Result<Addresses> Resolve(const std::string& address, int flags) {
  MLC_TRY(CheckAddress(address));
  const size_t colon = address.rfind(':');
  const std::string host = HostOf(address);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (code != 0) return Unavailable("cannot find " + address + ": " + gai_strerror(code));
  return Addresses(found, freeaddrinfo);
}

bool SomeoneListens(const sockaddr_un& where) {
  const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0;
}

Result<Descriptor> ListenOnUnix(const std::string& address) {
  const sockaddr_un where = MLC_TRY(UnixAddress(address));
  struct stat file;
  if (lstat(where.sun_path, &file) == 0 && S_ISSOCK(file.st_mode)) {
    if (SomeoneListens(where)) return Unavailable("another server listens on " + address);
    (void)unlink(where.sun_path);
  }
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    return Failed("cannot listen on", address);
  }
  return fd;
}

std::string PortOf(int fd) {
  sockaddr_storage where = {};
  socklen_t size = sizeof(where);
  (void)getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size);
  return std::to_string(ntohs(where.ss_family == AF_INET6
                                  ? reinterpret_cast<sockaddr_in6&>(where).sin6_port
                                  : reinterpret_cast<sockaddr_in&>(where).sin_port));
}

}  // namespace

Status CheckAddress(const std::string& address) {
  if (address.starts_with(kUnix)) return UnixAddress(address).status();
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || HostOf(address).empty() || colon + 1 == address.size()) {
    return InvalidArgument("'" + address + "' is not an address: write HOST:PORT or unix:PATH");
  }
  // The system's resolver takes any number, and its last 16 bits.
  const std::string port = address.substr(colon + 1);
  const bool number = port.find_first_not_of("0123456789") == std::string::npos;
  if (number && (port.size() > 5 || std::stoi(port) > kLastPort)) {
    return InvalidArgument("'" + address + "' is not an address: the largest port is 65535");
  }
  return Status();
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int Descriptor::Release() { return std::exchange(fd_, -1); }

void Descriptor::Close() {
  if (fd_ >= 0) close(Release());
}

std::string HostOf(const std::string& address) {
  if (address.starts_with(kUnix)) return "";
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

bool IsLocal(const std::string& address) {
  if (address.starts_with(kUnix)) return true;
  const std::string host = HostOf(address);
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "localhost" || host == "::1";
}

std::string SourceOf(int fd) {
  sockaddr_storage where = {};
  socklen_t size = sizeof(where);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&where), &size) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (where.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(where);
    (void)inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (where.ss_family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(where);
    // IPv4 in IPv6's clothes keeps its host.
    if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) std::memset(v6.sin6_addr.s6_addr + 8, 0, 8);
    (void)inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

Result<Descriptor> ListenOn(const std::string& address, std::string& bound) {
  bound = address;
  if (address.starts_with(kUnix)) return ListenOnUnix(address);
  const Addresses found = MLC_TRY(Resolve(address, AI_PASSIVE));
  errno = EADDRNOTAVAIL;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    Descriptor fd(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd.get(), one->ai_addr, one->ai_addrlen) != 0 || listen(fd.get(), kBacklog) != 0) {
      continue;
    }
    bound = address.substr(0, address.rfind(':') + 1) + PortOf(fd.get());
    return fd;
  }
  return Failed("cannot listen on", address);
}

Result<Descriptor> ConnectTo(const std::string& address, int timeout_ms) {
  const timeval limit = {timeout_ms / 1000, (timeout_ms % 1000) * 1000};
  const auto connected = [&](int family, const sockaddr* where, socklen_t size) {
    Descriptor fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd.get(), where, size) != 0) fd.Close();
    return fd;
  };
  if (address.starts_with(kUnix)) {
    const sockaddr_un where = MLC_TRY(UnixAddress(address));
    Descriptor fd = connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&where), sizeof(where));
    if (fd.get() < 0) return Failed("cannot connect to", address);
    return fd;
  }
  const Addresses found = MLC_TRY(Resolve(address, 0));
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    Descriptor fd = connected(one->ai_family, one->ai_addr, one->ai_addrlen);
    if (fd.get() >= 0) return fd;
  }
  return Failed("cannot connect to", address);
}

}  // namespace mlc::transport
