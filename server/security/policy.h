// The policy: one table with the role that each call needs and the limits of its request. A call
// without a row is denied; a test checks that every method of the services has a row. Constant;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "server/security/caller.h"

namespace mlc::server {

struct Rule {
  std::string_view rpc;  // "/package.Service/Method"
  Role role;
  bool any_role = false;  // open to every authenticated caller
  // Limits of its request: bytes, and fields as counted by CountFields.
  size_t bytes = size_t{64} << 10;
  int64_t fields = 1'000;
};

std::span<const Rule> Policy();
// The row of the call; null if it has none.
const Rule* RuleOf(std::string_view rpc);

// OK if the caller may make the call; else PERMISSION_DENIED, with the required role.
Status Check(const Caller& caller, std::string_view rpc);

}  // namespace mlc::server
