// Which role each call needs, and what it may bring: one table. A call without a row is denied; a
// test goes through the service descriptors and finds calls without one.
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
  bool any_role = false;  // every authenticated caller
  // Of its request: bytes, and fields as CountFields counts them.
  size_t bytes = size_t{64} << 10;
  int64_t fields = 1'000;
};

std::span<const Rule> Policy();
// Null for a call without one.
const Rule* RuleOf(std::string_view rpc);

// OK if the caller may make the call; else PERMISSION_DENIED, with the role that is needed.
Status Check(const Caller& caller, std::string_view rpc);

}  // namespace mlc::server
