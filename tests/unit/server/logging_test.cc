#include "server/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace mlc::server {
namespace {

TEST(LoggingTest, WordsOfAMessageBecomeFields) {
  EXPECT_EQ(ToJsonLine("now", "warn", "p", "task=ab12 worker=gpu-1: it \"failed\"\n"),
            R"({"time":"now","level":"warn","program":"p","message":"task=ab12 worker=gpu-1: it )"
            R"(\"failed\"\n","task":"ab12","worker":"gpu-1"})");
  const auto parsed = nlohmann::json::parse(ToJsonLine("t", "l", "p", "a \xff byte; level=fake"));
  EXPECT_EQ(parsed["level"], "l");
}

TEST(LoggingTest, EveryLineOfAJsonLogParses) {
  const std::string path = ::testing::TempDir() + "/mlc-logging";
  std::filesystem::remove(path);
  {
    const auto logger = MakeLogger({.program = "p", .file = path, .format = "json"});
    ASSERT_TRUE(logger.ok());
    (*logger)->debug("not at this level");
    (*logger)->info("job={} started", "j1");
    (*logger)->error("two\nlines");
  }
  std::ifstream file(path);
  std::string line;
  std::vector<nlohmann::json> lines;
  while (std::getline(file, line)) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["job"], "j1");
  EXPECT_EQ(lines[1]["message"], "two\nlines");
  EXPECT_THAT(lines[1]["time"].get<std::string>(), ::testing::EndsWith("Z"));
  std::filesystem::remove(path);
}

TEST(LoggingTest, AFileThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(MakeLogger({.program = "p", .file = "/proc/no/such/file"}).status().code(),
            StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace mlc::server
