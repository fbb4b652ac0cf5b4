#include "server/page/page_access.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/rpc/socket.h"
#include "server/security/tokens.h"

namespace mlc::server::page {
namespace {

constexpr std::string_view kBearer = "Bearer ";
// The prefix has browsers refuse it without Secure, or for more than this host.
constexpr std::string_view kCookie = "__Host-mlc-session";
constexpr char kCookieTerms[] = "; Path=/; HttpOnly; Secure; SameSite=Strict";
constexpr int64_t kSessionMs = 12 * 3'600'000;
constexpr size_t kMostSessions = 1'000;
constexpr size_t kMostOfOneToken = 32;

// 64 hexadecimal digits of 256 random bits.
std::string RandomWord() {
  std::array<char, 32> bytes;
  MLC_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return TokenDigest({bytes.data(), bytes.size()});
}

// Takes as long wherever they differ.
bool Same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

std::string CookieOf(std::string_view cookies) {
  while (!cookies.empty()) {
    const size_t end = cookies.find(';');
    std::string_view one = cookies.substr(0, end);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(kCookie) && one.substr(kCookie.size()).starts_with('=')) {
      return std::string(one.substr(kCookie.size() + 1));
    }
    cookies = end == std::string_view::npos ? "" : cookies.substr(end + 1);
  }
  return "";
}

bool IsAddress(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// "host", "host:80", "[::1]:80" without the port, in lower case; empty for anything else.
std::string NameOf(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const bool plain =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-:[]_") == std::string::npos;
  if (!plain || host.size() > 255) return "";
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string::npos ? "" : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

std::string MachineName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? NameOf(name) : "";
}

Status Forged(const std::string& why) { return {StatusCode::kPermissionDenied, "refused: " + why}; }

}  // namespace

PageAccess::PageAccess(const AccessControl& access, const Clock& clock, AccessTerms terms)
    : access_(access), clock_(clock), terms_(std::move(terms)), key_(RandomWord()) {}

// Under TLS a browser has checked the name against the certificate. Without, a site could have its
// own name lead to this address and read the page as itself; so only names that it cannot own
// count.
Status PageAccess::CheckHost(const HttpRequest& request) const {
  const std::string name = NameOf(request.host);
  const bool own = name == "localhost" || IsAddress(name) ||
                   name == NameOf(transport::HostOf(terms_.listen)) || name == MachineName();
  if (!name.empty() && (terms_.has_tls || own)) return Status();
  return InvalidArgument(
      "this server does not have that name: use its address, or the name of its machine");
}

Result<Visitor> PageAccess::Identify(const HttpRequest& request) const {
  Visitor visitor;
  if (!terms_.has_tls) {
    visitor.caller = terms_.read_only ? Caller{"local", Role::kRead, false} : Caller::Local();
    visitor.form_secret = SecretFor("local");
    return visitor;
  }
  Proof proof;
  proof.certificate = request.peer.certificate;
  proof.uris = request.peer.uris;
  std::string whom = "certificate " + TokenDigest(proof.certificate);
  if (!request.authorization.empty()) {
    if (!request.authorization.starts_with(kBearer)) {
      return Status(StatusCode::kUnauthenticated,
                    "the authorization header must be 'Bearer TOKEN'");
    }
    proof.token_digest =
        TokenDigest(std::string_view(request.authorization).substr(kBearer.size()));
    visitor.by_token = true;
    whom = "token " + proof.token_digest;
  } else if (const std::string number = CookieOf(request.cookie); !number.empty()) {
    const std::string digest = TokenDigest(number);
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(digest);
    if (found != sessions_.end() && clock_.SteadyMs() - found->second.began_ms < kSessionMs) {
      proof.token_digest = found->second.token_digest;
      visitor.has_session = true;
      whom = "session " + digest;
    }
  }
  visitor.caller = MLC_TRY(access_.Identify(proof));
  visitor.form_secret = SecretFor(whom);
  return visitor;
}

std::string PageAccess::OriginOf(const HttpRequest& request) const {
  return (terms_.has_tls ? "https://" : "http://") + request.host;
}

Status PageAccess::CheckForgery(const HttpRequest& request, const std::string& form_secret,
                                bool by_token) const {
  if (request.has_query) return Forged("a change takes its fields from the form alone");
  if (by_token) return Status();
  if (!request.fetch_site.empty() && request.fetch_site != "same-origin") {
    return Forged("the request comes from another site");
  }
  if (request.origin != OriginOf(request)) return Forged("the request comes from another site");
  if (!Same(request.Field("secret"), form_secret)) {
    return Forged("the form is not of this session: go back, load the page again and repeat it");
  }
  return Status();
}

// Nested, so that a known value says nothing of those of longer texts.
std::string PageAccess::SecretFor(std::string_view whom) const {
  return TokenDigest(key_ + TokenDigest(key_ + std::string(whom)));
}

void PageAccess::MakeRoom(const std::string& token_digest) {
  const int64_t now = clock_.SteadyMs();
  std::erase_if(sessions_,
                [&](const auto& entry) { return now - entry.second.began_ms >= kSessionMs; });
  const auto count = [&](bool all) MLC_REQUIRES(mutex_) {
    return static_cast<size_t>(std::count_if(
        sessions_.begin(), sessions_.end(),
        [&](const auto& entry) { return all || entry.second.token_digest == token_digest; }));
  };
  while (count(true) >= kMostSessions || count(false) >= kMostOfOneToken) {
    const bool of_one = count(false) >= kMostOfOneToken;
    auto oldest = sessions_.end();
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
      if (of_one && it->second.token_digest != token_digest) continue;
      if (oldest == sessions_.end() || it->second.began_ms < oldest->second.began_ms) oldest = it;
    }
    sessions_.erase(oldest);
  }
}

Result<std::string> PageAccess::Login(std::string_view token) {
  if (!access_.takes_tokens()) {
    return Status(StatusCode::kUnauthenticated, "this server takes no tokens");
  }
  Proof proof;
  proof.token_digest = TokenDigest(token);
  (void)MLC_TRY(access_.Identify(proof));
  const std::string number = RandomWord();
  const MutexLock lock(mutex_);
  MakeRoom(proof.token_digest);
  sessions_[TokenDigest(number)] = {proof.token_digest, clock_.SteadyMs()};
  return std::string(kCookie) + "=" + number + kCookieTerms;
}

std::string PageAccess::Logout(const HttpRequest& request) {
  const MutexLock lock(mutex_);
  sessions_.erase(TokenDigest(CookieOf(request.cookie)));
  return std::string(kCookie) + "=" + kCookieTerms + "; Max-Age=0";
}

}  // namespace mlc::server::page
