#include "server/security/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;
using transport::Look;

class TokensTest : public ::testing::Test {
 protected:
  TokensTest() : path_(::testing::TempDir() + "/mlc-tokens") {}
  ~TokensTest() override { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  std::string path_;
};

TEST_F(TokensTest, TheDigestIsSha256) {
  EXPECT_EQ(TokenDigest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(TokensTest, FindsWhomATokenStandsFor) {
  Write("# people\n\n" + TokenDigest("one") + " submit/alice\n" + TokenDigest("two") +
        "  read/ci 1970-01-11\r\n");
  const auto tokens = Tokens::Open(path_);
  ASSERT_TRUE(tokens.ok()) << tokens.status().ToString();
  EXPECT_EQ((*tokens)->size(), 2u);
  EXPECT_EQ((*tokens)->Find("one", 1'000'000)->ToText(), "submit alice");
  EXPECT_EQ((*tokens)->Find("two", 10)->ToText(), "read ci");
  EXPECT_THAT((*tokens)->Find("two", 11).status().message(), HasSubstr("read ci has expired"));
  for (const char* unknown : {"", "three", "one ", "ONE"}) {
    EXPECT_EQ((*tokens)->Find(unknown, 0).status().code(), StatusCode::kUnauthenticated);
  }
}

TEST_F(TokensTest, BadLinesAreNamed) {
  const std::string digest = TokenDigest("x");
  for (const std::string& bad : std::vector<std::string>{
           "abc submit/a", digest, digest + " root/a", digest + " read/a tomorrow",
           digest + " read/a 2027-02-30", digest + " read/a 2027-01-01 more"}) {
    Write("# first\n" + bad + "\n");
    const auto tokens = Tokens::Open(path_);
    EXPECT_EQ(tokens.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(tokens.status().message(), HasSubstr(path_ + ":2")) << bad;
  }
  EXPECT_EQ(Tokens::Open(path_ + ".absent").status().code(), StatusCode::kNotFound);
}

TEST_F(TokensTest, ARemovedLineRevokesAndABadFileChangesNothing) {
  Write(TokenDigest("one") + " submit/alice\n" + TokenDigest("two") + " submit/bob\n");
  const auto tokens = Tokens::Open(path_);
  ASSERT_TRUE(tokens.ok());
  Write("rubbish\n");
  EXPECT_FALSE((*tokens)->Refresh(Look::kNow).ok());
  EXPECT_FALSE((*tokens)->Refresh(Look::kIfChanged).ok()) << "said until the file is mended";
  EXPECT_TRUE((*tokens)->Find("one", 0).ok());
  Write(TokenDigest("two") + " submit/bob\n");
  EXPECT_TRUE((*tokens)->Refresh(Look::kNow).ok());
  EXPECT_FALSE((*tokens)->Find("one", 0).ok());
  EXPECT_TRUE((*tokens)->Find("two", 0).ok());
}

// Somebody writes the file in place, and we look meanwhile.
TEST_F(TokensTest, APartOfAFileIsNotTaken) {
  const std::string alice = TokenDigest("one") + " submit/alice\n";
  const std::string bob = TokenDigest("two") + " submit/bob\n";
  Write(alice + bob);
  const auto tokens = Tokens::Open(path_);
  ASSERT_TRUE(tokens.ok());
  // Emptied first: everybody would be locked out.
  Write("");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT((*tokens)->Refresh(Look::kIfChanged).message(), HasSubstr("is empty"));
  }
  // Cut within a name: alice would become somebody else.
  Write(alice.substr(0, alice.size() - 3));
  (void)(*tokens)->Refresh(Look::kIfChanged);
  EXPECT_THAT((*tokens)->Refresh(Look::kIfChanged).message(), HasSubstr("has no end"));
  EXPECT_EQ((*tokens)->Find("one", 0)->ToText(), "submit alice");
  EXPECT_THAT(Tokens::Open(path_).status().message(), HasSubstr("has no end"));
  // Cut between two lines, then whole at the next look: bob stays in all the time.
  Write(alice);
  (void)(*tokens)->Refresh(Look::kIfChanged);
  EXPECT_TRUE((*tokens)->Find("two", 0).ok());
  Write(alice + bob);
  EXPECT_TRUE((*tokens)->Refresh(Look::kIfChanged).ok());
  EXPECT_TRUE((*tokens)->Find("two", 0).ok());
  // What stays so is meant so.
  Write(alice);
  (void)(*tokens)->Refresh(Look::kIfChanged);
  EXPECT_TRUE((*tokens)->Refresh(Look::kIfChanged).ok());
  EXPECT_FALSE((*tokens)->Find("two", 0).ok());
  EXPECT_EQ((*tokens)->taken(), 2);
}

// Copied by root with mode 0600, then given to the server's user: neither size nor time change.
TEST_F(TokensTest, AFileThatCouldNotBeReadIsReadOnceItCan) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  constexpr uid_t kServer = 65534;
  char folder[] = "/tmp/mlc-tokens-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 0755), 0);
  const std::string path = std::string(folder) + "/tokens";
  std::ofstream(path) << TokenDigest("one") + " submit/alice\n";
  ASSERT_EQ(seteuid(kServer), 0);
  const auto tokens = Tokens::Open(path);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_TRUE(tokens.ok()) << tokens.status().ToString();
  std::ofstream(path + ".new") << "# nobody\n";
  ASSERT_EQ(chmod((path + ".new").c_str(), 0600), 0);
  ASSERT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
  ASSERT_EQ(seteuid(kServer), 0);
  const Status unreadable = (*tokens)->Refresh(Look::kIfChanged);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(unreadable.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(unreadable.message(), HasSubstr("belongs to user 0 and group 0 with mode 0600, and "
                                              "this program runs as user 65534: chown it"));
  EXPECT_TRUE((*tokens)->Find("one", 0).ok()) << "the old ones stay";
  ASSERT_EQ(chown(path.c_str(), kServer, kServer), 0);
  ASSERT_EQ(seteuid(kServer), 0);
  (void)(*tokens)->Refresh(Look::kIfChanged);
  const Status readable = (*tokens)->Refresh(Look::kIfChanged);
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_TRUE(readable.ok()) << readable.ToString();
  EXPECT_FALSE((*tokens)->Find("one", 0).ok()) << "revoked";
  std::filesystem::remove_all(folder);
}

TEST_F(TokensTest, AFileThatNeverSettlesIsToldOf) {
  Write("# nobody\n");
  const auto tokens = Tokens::Open(path_);
  ASSERT_TRUE(tokens.ok());
  Status status;
  std::string text = TokenDigest("one") + " submit/alice\n";
  for (int i = 0; i < 10 && status.ok(); ++i) {
    Write(text += "#\n");
    status = (*tokens)->Refresh(Look::kIfChanged);
  }
  EXPECT_THAT(status.message(), HasSubstr("changes at every read"));
  EXPECT_FALSE((*tokens)->Find("one", 0).ok());
  EXPECT_TRUE((*tokens)->Refresh(Look::kIfChanged).ok());
  EXPECT_TRUE((*tokens)->Find("one", 0).ok());
}

TEST_F(TokensTest, WhatIsNoFileIsRefusedInsteadOfWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Tokens::Open(path_).status().message(), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace mlc::server
