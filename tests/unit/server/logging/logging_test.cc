#include "server/logging/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/logging/log_file.h"
#include "server/logging/log_text.h"

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

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(LoggingTest, WhatCallersChoseMakesNoLineOfItsOwn) {
  const std::string evil = "w\n2026-01-01T00:00:00.000+0000 info audit: all is well\x1b[2J\r\x7f";
  const std::string path = ::testing::TempDir() + "/mlc-forged";
  for (const char* format : {"text", "json"}) {
    std::filesystem::remove(path);
    const auto logger = MakeLogger({.program = "p", .file = path, .format = format});
    ASSERT_TRUE(logger.ok());
    (*logger)->warn(
        "worker={}: \xe2\x80\xa8 \xc2\x9b"
        "2J refused",
        evil);
    const std::vector<std::string> lines = LinesOf(path);
    ASSERT_EQ(lines.size(), 1u) << format;
    for (const char c : lines[0]) EXPECT_TRUE(c >= ' ' && c <= '~') << format << ": " << lines[0];
  }
  std::filesystem::remove(path);
  EXPECT_EQ(OneLine("gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80");
  EXPECT_EQ(OneLine("a\nb\tc\x1b[31m"), "a\\nb\\tc\\x1b[31m");
  EXPECT_EQ(OneLine("\xff\xc0\x80\xed\xa0\x80\xe2\x82"),
            "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xe2\\x82");
  EXPECT_EQ(OneLine("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "turns the line round";
}

TEST(LoggingTest, TheFirstWordsCountWhatACallerSaysComesLater) {
  const auto parsed = nlohmann::json::parse(
      ToJsonLine("t", "warn", "p", "task=ab worker=evil: cannot build worker=honest task=cd"));
  EXPECT_EQ(parsed["worker"], "evil");
  EXPECT_EQ(parsed["task"], "ab");
}

TEST(LoggingTest, AFileThatWasMovedIsOpenedAnew) {
  const std::string path = ::testing::TempDir() + "/mlc-rotated";
  for (const char* file : {"", ".1", ".2"}) std::filesystem::remove(path + file);
  const auto logger = MakeLogger({.program = "p", .file = path});
  ASSERT_TRUE(logger.ok());
  (*logger)->info("one");
  // As logrotate does it, without a word and with one.
  std::filesystem::rename(path, path + ".1");
  (*logger)->info("two");
  std::filesystem::rename(path, path + ".2");
  ReopenLogFiles(**logger);
  EXPECT_TRUE(std::filesystem::exists(path)) << "before there is a message";
  (*logger)->info("three");
  const auto expect = [&](const std::string& file, const std::string& word) {
    const std::vector<std::string> lines = LinesOf(file);
    ASSERT_EQ(lines.size(), 1u) << file;
    EXPECT_THAT(lines[0], ::testing::EndsWith(" info " + word));
  };
  expect(path + ".1", "one");
  expect(path + ".2", "two");
  expect(path, "three");
  for (const char* file : {"", ".1", ".2"}) std::filesystem::remove(path + file);
}

// A limit of the process fails as a full disk does, in the middle of a line.
TEST(LoggingTest, MessagesThatFoundNoSpaceAreToldOfLater) {
  const std::string path = ::testing::TempDir() + "/mlc-full";
  std::filesystem::remove(path);
  const auto logger = MakeLogger({.program = "p", .file = path, .format = "json"});
  ASSERT_TRUE(logger.ok());
  (*logger)->info("one");
  auto* const before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit full{std::filesystem::file_size(path) + 20, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  (*logger)->info("two");
  (*logger)->info("three");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  (*logger)->info("four");
  (void)std::signal(SIGXFSZ, before);
  const std::vector<std::string> lines = LinesOf(path);
  ASSERT_EQ(lines.size(), 4u) << "the second one is a part of a line";
  EXPECT_EQ(nlohmann::json::parse(lines[0])["message"], "one");
  EXPECT_EQ(lines[1].size(), 20u);
  EXPECT_EQ(nlohmann::json::parse(lines[2])["message"], "2 messages were lost: File too large");
  EXPECT_EQ(nlohmann::json::parse(lines[3])["message"], "four");
  std::filesystem::remove(path);
}

TEST(LoggingTest, AFileThatCannotBeWrittenIsAnError) {
  const Status missing = MakeLogger({.program = "p", .file = "/proc/no/such/file"}).status();
  EXPECT_EQ(missing.code(), StatusCode::kUnwritable);
  EXPECT_THAT(missing.message(),
              ::testing::StartsWith("--log-file: cannot write /proc/no/such/file: No such file"));
}

}  // namespace
}  // namespace mlc::server
