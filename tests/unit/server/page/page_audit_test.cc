#include "server/page/page_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

#include "tests/support/clock/skipping_clock.h"

namespace mlc::server::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PageAuditTest : public ::testing::Test {
 protected:
  int Lines(const std::string& words) const {
    int count = 0;
    const std::string text = words_.str();
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
      ++count;
    }
    return count;
  }

  tests::SkippingClock clock_;
  std::ostringstream words_;
  PageAudit audit_{clock_, std::make_shared<spdlog::logger>(
                               "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(words_))};
};

TEST_F(PageAuditTest, AFloodOfOneCallerIsCutAndHidesNoOther) {
  for (int i = 0; i < 1'000; ++i) audit_.Refused("submit ada", "refused: a form");
  EXPECT_GE(Lines("by submit ada"), 100);
  EXPECT_LT(Lines("by submit ada"), 500);
  audit_.Changed("admin bob", "drain of w: done");
  EXPECT_EQ(Lines("audit: drain of w: done, by admin bob at the page"), 1);
}

TEST_F(PageAuditTest, WhatWasLeftOutIsCounted) {
  for (int i = 0; i < 1'000; ++i) audit_.Refused("submit ada", "refused: a form");
  clock_.Skip(60'000);
  audit_.Changed("admin bob", "drain of w: done");
  EXPECT_THAT(words_.str(), HasSubstr(" more lines about submit ada at the page"));
}

TEST_F(PageAuditTest, WordsOfCallersBeginNoLine) {
  audit_.Changed("admin bob", "drain of w\naudit: drain of v: done");
  EXPECT_THAT(words_.str(), Not(HasSubstr("\naudit")));
  EXPECT_THAT(words_.str(), HasSubstr("w?audit"));
}

}  // namespace
}  // namespace mlc::server::page
