#include "base/tls/revocations.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "tests/unit/base/rpc/lab.h"

namespace mlc::transport {
namespace {

using ::testing::HasSubstr;

std::string Text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Two authorities, as while one takes the other's place, and one list of each in one file.
class RevocationsTest : public ::testing::Test {
 protected:
  RevocationsTest() : old_("revocations-old"), young_("revocations-young") {
    for (const Lab* lab : {&old_, &young_}) {
      for (const char* what : {"submit gone", "submit stays", "revoke submit gone"}) {
        lab->Make(what);
      }
    }
    paths_.authority = old_.path("both.pem");
    paths_.revoked = old_.path("lists.pem");
    std::ofstream(paths_.authority) << Text(old_.path("ca.pem")) + Text(young_.path("ca.pem"));
    Write(Both());
  }
  std::string Both() const { return Text(old_.path("crl.pem")) + Text(young_.path("crl.pem")); }
  void Write(const std::string& text) const { std::ofstream(paths_.revoked) << text; }
  static bool Revoked(const Revocations& list, const Lab& lab, const std::string& who) {
    return !list.Check(Text(lab.path(who + ".pem"))).ok();
  }

  const Lab old_;
  const Lab young_;
  TlsPaths paths_;
};

TEST_F(RevocationsTest, APartOfTheListsGivesNobodyBack) {
  const auto list = Revocations::Open(paths_, "revoked");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_EQ((*list)->size(), 2u);
  const std::string first = Text(old_.path("crl.pem"));
  // Cut within the second list, and between both.
  for (const auto& [text, words] :
       {std::pair(Both().substr(0, first.size() + 100), "is damaged, or still being written"),
        std::pair(first, "has lost the list of an authority")}) {
    Write(text);
    for (const Look look : {Look::kIfChanged, Look::kNow, Look::kIfChanged}) {
      EXPECT_THAT((*list)->Refresh(look).message(), HasSubstr(words));
    }
    EXPECT_TRUE(Revoked(**list, young_, "submit-gone"));
  }
  young_.Make("revoke submit stays");
  Write(Both());
  EXPECT_TRUE((*list)->Refresh(Look::kIfChanged).ok());
  EXPECT_TRUE(Revoked(**list, young_, "submit-stays"));
  EXPECT_FALSE(Revoked(**list, old_, "submit-stays"));
  // An authority that nobody trusts any more needs no list.
  std::ofstream(paths_.authority) << Text(young_.path("ca.pem"));
  Write(Text(young_.path("crl.pem")));
  EXPECT_TRUE((*list)->Refresh(Look::kIfChanged).ok());
}

// The list comes before the authority that has signed it: the list itself does not change again.
TEST_F(RevocationsTest, AListThatCouldNotBeUsedIsReadOnceItCan) {
  std::ofstream(paths_.authority) << Text(old_.path("ca.pem"));
  Write(Text(old_.path("crl.pem")));
  const auto list = Revocations::Open(paths_, "revoked");
  ASSERT_TRUE(list.ok());
  Write(Both());
  EXPECT_THAT((*list)->Refresh(Look::kIfChanged).message(), HasSubstr("is not signed by"));
  std::ofstream(paths_.authority) << Text(old_.path("ca.pem")) + Text(young_.path("ca.pem"));
  EXPECT_TRUE((*list)->Refresh(Look::kIfChanged).ok());
  EXPECT_TRUE(Revoked(**list, young_, "submit-gone"));
}

}  // namespace
}  // namespace mlc::transport
