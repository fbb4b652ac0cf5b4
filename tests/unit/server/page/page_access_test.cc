#include "server/page/page_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/security/tokens.h"
#include "tests/support/clock/skipping_clock.h"

namespace mlc::server::page {
namespace {

using ::testing::HasSubstr;

// Knows tokens by their digests, and forgets them.
class TokenAccess : public OpenAccess {
 public:
  Result<Caller> Identify(const Proof& proof) const override {
    const auto found = callers.find(proof.token_digest);
    if (found != callers.end()) return found->second;
    return Status(StatusCode::kUnauthenticated, "the token is unknown");
  }
  bool takes_tokens() const override { return true; }
  std::map<std::string, Caller> callers;
};

class PageAccessTest : public ::testing::Test {
 protected:
  PageAccessTest() {
    tokens_.callers[TokenDigest("alices")] = {"alice", Role::kSubmit, false};
    tokens_.callers[TokenDigest("bobs")] = {"bob", Role::kAdmin, false};
  }
  HttpRequest With(const std::string& set_cookie) const {
    HttpRequest request;
    request.host = "lab:8443";
    request.origin = "https://lab:8443";
    request.cookie = "a=b; " + set_cookie.substr(0, set_cookie.find(';'));
    return request;
  }

  TokenAccess tokens_;
  tests::SkippingClock clock_;
  PageAccess access_{tokens_, clock_, {"0.0.0.0:8443", true, false}};
};

TEST_F(PageAccessTest, ATokenBecomesASessionThatNoScriptAndNoOtherSiteCanUse) {
  const Result<std::string> cookie = access_.Login("alices");
  ASSERT_TRUE(cookie.ok());
  for (const char* term : {"__Host-", "; HttpOnly", "; Secure", "; SameSite=Strict", "; Path=/"}) {
    EXPECT_THAT(*cookie, HasSubstr(term));
  }
  EXPECT_EQ(cookie->find("alices"), std::string::npos);
  const Result<Visitor> visitor = access_.Identify(With(*cookie));
  ASSERT_TRUE(visitor.ok()) << visitor.status().ToString();
  EXPECT_EQ(visitor->caller.name, "alice");
  EXPECT_TRUE(visitor->has_session);
}

TEST_F(PageAccessTest, StrangersAndWrongTokensAreRefused) {
  EXPECT_EQ(access_.Login("wrong").status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(access_.Identify(HttpRequest()).status().code(), StatusCode::kUnauthenticated);
  EXPECT_FALSE(access_.Identify(With("__Host-mlc-session=" + std::string(64, '0'))).ok());
}

TEST_F(PageAccessTest, ASessionEndsWithItsToken) {
  const std::string cookie = *access_.Login("alices");
  tokens_.callers.erase(TokenDigest("alices"));
  EXPECT_FALSE(access_.Identify(With(cookie)).ok());
}

TEST_F(PageAccessTest, ASessionEndsWhenItsOwnerLogsOut) {
  const std::string cookie = *access_.Login("alices");
  EXPECT_THAT(access_.Logout(With(cookie)), HasSubstr("Max-Age=0"));
  EXPECT_FALSE(access_.Identify(With(cookie)).ok());
}

TEST_F(PageAccessTest, TheOldestSessionsOfATokenMakeRoom) {
  const std::string first = *access_.Login("alices");
  const std::string other = *access_.Login("bobs");
  for (int i = 0; i < 32; ++i) ASSERT_TRUE(access_.Login("alices").ok());
  EXPECT_TRUE(access_.Identify(With(other)).ok());
  int live = 0;
  live += access_.Identify(With(first)).ok() ? 1 : 0;
  EXPECT_LE(live, 1);
}

TEST_F(PageAccessTest, AFormOfAnotherSessionIsRefused) {
  const std::string mine = *access_.Login("alices"), other = *access_.Login("alices");
  HttpRequest request = With(mine);
  const Visitor visitor = *access_.Identify(request);
  request.fields["secret"] = access_.Identify(With(other))->form_secret;
  EXPECT_EQ(access_.CheckForgery(request, visitor.form_secret, false).code(),
            StatusCode::kPermissionDenied);
  request.fields["secret"] = visitor.form_secret;
  EXPECT_TRUE(access_.CheckForgery(request, visitor.form_secret, false).ok());
  request.fetch_site = "cross-site";
  EXPECT_FALSE(access_.CheckForgery(request, visitor.form_secret, false).ok());
  request.fetch_site = "same-origin";
  request.origin = "http://lab:8443";
  EXPECT_FALSE(access_.CheckForgery(request, visitor.form_secret, false).ok());
}

TEST_F(PageAccessTest, ProgramsSendTheTokenItself) {
  HttpRequest request;
  request.authorization = "Bearer bobs";
  const Result<Visitor> visitor = access_.Identify(request);
  ASSERT_TRUE(visitor.ok());
  EXPECT_EQ(visitor->caller.name, "bob");
  EXPECT_TRUE(visitor->by_token);
  request.authorization = "Basic Ym9i";
  EXPECT_FALSE(access_.Identify(request).ok());
}

}  // namespace
}  // namespace mlc::server::page
