// Which role each call needs: one table. A call without a row is nobody's; a test goes through the
// service descriptors and finds calls without one.
#pragma once

#include <span>
#include <string_view>

#include "server/security/caller.h"

namespace mlc::server {

struct Rule {
  std::string_view rpc;  // "/package.Service/Method"
  Role role;
  bool anyone = false;  // whoever is known, whatever the role
};

std::span<const Rule> Policy();

// OK if the caller may make the call; else PERMISSION_DENIED, with the role that is needed.
Status Check(const Caller& caller, std::string_view rpc);

}  // namespace mlc::server
