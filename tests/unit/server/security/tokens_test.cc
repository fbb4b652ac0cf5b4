#include "server/security/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

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
  EXPECT_FALSE((*tokens)->Refresh().ok());
  EXPECT_TRUE((*tokens)->Find("one", 0).ok());
  Write(TokenDigest("two") + " submit/bob\n");
  EXPECT_TRUE((*tokens)->Refresh().ok());
  EXPECT_FALSE((*tokens)->Find("one", 0).ok());
  EXPECT_TRUE((*tokens)->Find("two", 0).ok());
}

}  // namespace
}  // namespace mlc::server
