// Who makes a call, and what they may do. A value; thread-compatible.
//
// Over TLS the name and the role are those of the client's certificate or of its bearer token. Over
// a Unix socket or an unprotected loopback port callers are not distinguished: the caller is
// Local(), with every role, and the permissions of the socket's folder decide who gets there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::server {

enum class Role : uint8_t {
  kRead,    // asks: jobs, progress, best configs
  kSubmit,  // starts and cancels jobs of its own, and reads
  kWork,    // runs trials, and nothing else
  kAdmin,   // everything but to work: other people's jobs, workers, reflection
};
inline constexpr int kRoles = 4;

// "read", "submit", "work", "admin".
std::string_view ToText(Role role);
std::optional<Role> ParseRole(std::string_view text);

struct Caller {
  std::string name;         // of the person, the build machine or the worker; never empty
  Role role = Role::kRead;  // of a caller that is not local
  bool local = false;       // reached the server unprotected: has every role

  static Caller Local() { return {"local", Role::kAdmin, true}; }
  // A submitter also reads; an administrator also submits and reads.
  bool Has(Role wanted) const;
  // May act on what `owner` has submitted: the owner, an administrator, a local caller.
  bool Owns(std::string_view owner) const;
  // A worker called `worker` is this caller's: of that very name, or of it with a suffix after '-'
  // or '.', which names one of several devices of a host.
  bool RunsWorker(std::string_view worker) const;
  // "admin alice", for messages and the audit.
  std::string ToText() const;
};

// The caller that an identity of the form "ROLE/NAME" stands for: what certificates carry after
// "spiffe://mlc/", and what a line of a token file grants. A name is 1 to 64 letters, digits, '.',
// '_', '-' and '@'. INVALID_ARGUMENT otherwise.
Result<Caller> ParseIdentity(std::string_view identity);

}  // namespace mlc::server
