// The caller of a call, and what it may do. A value; thread-compatible.
//
// With TLS, name and role come from the client's certificate or bearer token. On a Unix socket or
// an unprotected loopback port, the server cannot distinguish callers: every caller is Local(),
// with every role. The permissions of the socket's folder control who can connect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::server {

enum class Role : uint8_t {
  kRead,    // reads jobs, progress and best configs
  kSubmit,  // submits jobs, cancels its own, and reads
  kWork,    // runs trials; nothing else
  kAdmin,   // all but kWork: jobs of others, workers, reflection
};
inline constexpr int kRoles = 4;

// "read", "submit", "work", "admin".
std::string_view ToText(Role role);
std::optional<Role> ParseRole(std::string_view text);

struct Caller {
  std::string name;         // of the person, the build machine or the worker; never empty
  Role role = Role::kRead;  // if the caller is not local
  bool local = false;       // connected without TLS: has every role

  static Caller Local() { return {"local", Role::kAdmin, true}; }
  // Submit includes read; admin includes submit and read.
  bool Has(Role wanted) const;
  // True if the caller may act on a job that `owner` submitted: the owner, an administrator or a
  // local caller.
  bool Owns(std::string_view owner) const;
  // True if the caller may run a worker of this name: the caller's name, or the caller's name with
  // a suffix after '-' or '.' for one of several devices of a host.
  bool RunsWorker(std::string_view worker) const;
  // "admin alice", for messages and audit lines.
  std::string ToText() const;
};

// Parses an identity of the form "ROLE/NAME", as certificates have it after "spiffe://mlc/" and
// token files in each line. A name is 1 to 64 letters, digits, '.', '_', '-' and '@'.
// INVALID_ARGUMENT otherwise.
Result<Caller> ParseIdentity(std::string_view identity);

}  // namespace mlc::server
