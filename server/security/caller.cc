#include "server/security/caller.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mlc::server {
namespace {

constexpr size_t kLongestName = 64;
constexpr std::array<std::string_view, kRoles> kNames = {"read", "submit", "work", "admin"};

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '@';
}

}  // namespace

std::string_view ToText(Role role) { return kNames[static_cast<size_t>(role)]; }

std::optional<Role> ParseRole(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Role>(found - kNames.begin());
}

bool Caller::Has(Role wanted) const {
  if (local || role == wanted) return true;
  switch (wanted) {
    case Role::kRead:
      return role == Role::kSubmit || role == Role::kAdmin;
    case Role::kSubmit:
      return role == Role::kAdmin;
    case Role::kWork:
    case Role::kAdmin:
      return false;
  }
  return false;
}

bool Caller::Owns(std::string_view owner) const {
  return local || role == Role::kAdmin || (role == Role::kSubmit && name == owner);
}

bool Caller::RunsWorker(std::string_view worker) const {
  if (local) return true;
  if (role != Role::kWork || !worker.starts_with(name)) return false;
  return worker.size() == name.size() || worker[name.size()] == '-' || worker[name.size()] == '.';
}

std::string Caller::ToText() const {
  return local ? name : std::string(server::ToText(role)) + " " + name;
}

Result<Caller> ParseIdentity(std::string_view identity) {
  const size_t slash = identity.find('/');
  const std::string_view name =
      slash == std::string_view::npos ? std::string_view() : identity.substr(slash + 1);
  const std::optional<Role> role = ParseRole(identity.substr(0, slash));
  if (!role || name.empty() || name.size() > kLongestName ||
      !std::all_of(name.begin(), name.end(), IsNameChar)) {
    return InvalidArgument("'" + std::string(identity.substr(0, 2 * kLongestName)) +
                           "' is not an identity: write ROLE/NAME with one of the roles read, "
                           "submit, work, admin");
  }
  return Caller{std::string(name), *role, false};
}

}  // namespace mlc::server
