#include "server/security/open_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mlc::server {
namespace {

TEST(OpenCallsTest, ThoseWhoMayNotGoOnAreEndedOnce) {
  OpenCalls calls;
  std::vector<std::string> revoked;
  std::vector<std::string> ended;
  const auto open = [&](const std::string& name) {
    return calls.Add(
        [&, name] {
          for (const std::string& one : revoked) {
            if (one == name) return Status(StatusCode::kUnauthenticated, "revoked");
          }
          return Status();
        },
        [&, name](const Status& status) { ended.push_back(name + ": " + status.message()); });
  };
  auto alice = open("alice");
  auto again = open("alice");
  const auto bob = open("bob");
  calls.Review();
  EXPECT_TRUE(ended.empty());
  again.reset();
  revoked = {"alice", "carol"};
  calls.Review();
  calls.Review();
  EXPECT_EQ(ended, std::vector<std::string>{"alice: revoked"});
  alice.reset();
  const auto carol = open("carol");
  calls.Review();
  EXPECT_EQ(ended.back(), "carol: revoked") << "also one that came too late";
  EXPECT_EQ(ended.size(), 2);
}

}  // namespace
}  // namespace mlc::server
