#include "server/metrics/watched_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <sstream>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

TEST(WatchedFilesTest, AFileThatCannotBeUsedIsSaidAgainAndAgainAndCounted) {
  std::ostringstream words;
  const auto metrics = std::make_shared<Metrics>();
  WatchedFiles files(std::make_shared<spdlog::logger>(
                         "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(words)),
                     metrics);
  const auto lines = [&] {
    const std::string text = words.str();
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto refused = [&](const std::string& value) {
    return metrics->Text().find("mlc_server_watched_file_invalid{file=\"tokens\"} " + value) !=
           std::string::npos;
  };
  files.Update("tokens", Status(), 0);
  EXPECT_EQ(lines(), 0);
  EXPECT_TRUE(refused("0"));
  EXPECT_TRUE(files.all_valid());
  for (int64_t ms = 1'000; ms < 31'000; ms += 250) files.Update("tokens", NotFound("a"), ms);
  EXPECT_EQ(lines(), 1);
  EXPECT_THAT(words.str(), HasSubstr("tokens: the old ones stay in force: a"));
  EXPECT_TRUE(refused("1"));
  files.Update("quotas", Status(), 31'000);
  EXPECT_FALSE(files.all_valid()) << "one of two is enough";
  files.Update("tokens", NotFound("a"), 31'000);
  EXPECT_EQ(lines(), 2) << "again, after 30 s";
  files.Update("tokens", NotFound("b"), 31'250);
  EXPECT_EQ(lines(), 3) << "another reason at once";
  files.Update("tokens", Status(), 31'500);
  files.Update("tokens", Status(), 31'750);
  EXPECT_EQ(lines(), 4);
  EXPECT_THAT(words.str(), HasSubstr("tokens: the file can be used again"));
  EXPECT_TRUE(refused("0"));
  EXPECT_TRUE(files.all_valid());
}

}  // namespace
}  // namespace mlc::server
