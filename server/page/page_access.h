// Who looks at the live page and what they may do: the same callers, roles and tokens as of the
// calls, and what browsers need besides: sessions, protection against requests that another site
// forges, and against names that another site points here. Thread-safe.
//
// A browser that shows no certificate logs in with a bearer token and gets a session: a random
// number in a cookie that scripts cannot read and that other sites cannot cause to be sent. The
// server keeps digests of both, in memory, and asks the access control at each request, so a token
// that is taken back ends the session. Programs send the token with each request instead.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "server/page/http.h"
#include "server/security/access_control.h"
#include "server/security/caller.h"

namespace mlc::server::page {

struct AccessTerms {
  std::string listen;  // HOST:PORT
  bool has_tls = false;
  bool read_only = false;  // callers who are not told apart may look and change nothing
};

struct Visitor {
  Caller caller;
  bool has_session = false;
  bool by_token = false;    // sent with the request itself, which no other site can do
  std::string form_secret;  // what forms of this visitor must bring back
};

class PageAccess {
 public:
  // Borrows both.
  PageAccess(const AccessControl& access, const Clock& clock, AccessTerms terms);

  // INVALID_ARGUMENT for a name that this server does not go by.
  Status CheckHost(const HttpRequest& request) const;
  // UNAUTHENTICATED for a stranger.
  Result<Visitor> Identify(const HttpRequest& request) const MLC_EXCLUDES(mutex_);
  // PERMISSION_DENIED if a change may have been asked for by another site.
  Status CheckForgery(const HttpRequest& request, const std::string& form_secret,
                      bool by_token) const;

  bool takes_tokens() const { return access_.takes_tokens(); }
  // Of the form of a stranger.
  std::string login_secret() const { return SecretFor("login"); }
  // The value of Set-Cookie. UNAUTHENTICATED for a token that is not good.
  Result<std::string> Login(std::string_view token) MLC_EXCLUDES(mutex_);
  std::string Logout(const HttpRequest& request) MLC_EXCLUDES(mutex_);

 private:
  struct Session {
    std::string token_digest;
    int64_t began_ms = 0;
  };
  std::string SecretFor(std::string_view whom) const;
  std::string OriginOf(const HttpRequest& request) const;
  void MakeRoom(const std::string& token_digest) MLC_REQUIRES(mutex_);

  const AccessControl& access_;
  const Clock& clock_;
  const AccessTerms terms_;
  const std::string key_;  // of this process
  mutable Mutex mutex_;
  std::map<std::string, Session> sessions_ MLC_GUARDED_BY(mutex_);  // by digest of their number
};

}  // namespace mlc::server::page
