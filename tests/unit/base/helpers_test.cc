// Helpers of a few lines that several folders share.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/ceil_div.h"
#include "base/format.h"
#include "base/quantile.h"
#include "base/steady_time.h"
#include "base/write_text.h"
#include "tests/temporary_folder.h"

namespace mlc {
namespace {

TEST(CeilDiv, RoundsUpOnBothSidesOfZero) {
  EXPECT_EQ(CeilDiv(0, 3), 0);
  EXPECT_EQ(CeilDiv(1, 3), 1);
  EXPECT_EQ(CeilDiv(3, 3), 1);
  EXPECT_EQ(CeilDiv(4, 3), 2);
  EXPECT_EQ(CeilDiv(-2, 3), 0);
  EXPECT_EQ(CeilDiv(-4, 3), -1);
  EXPECT_EQ(CeilDiv(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

TEST(Quantile, InterpolatesBetweenSamples) {
  EXPECT_EQ(Quantile({7}, 0.9), 7);
  EXPECT_EQ(Quantile({1, 2, 4}, 0.5), 2);
  EXPECT_DOUBLE_EQ(Quantile({1, 2, 4}, 0.75), 3);
  EXPECT_EQ(Quantile({1, 2, 4}, 1), 4);
}

TEST(Format, CutsWhatIsTooLong) {
  EXPECT_EQ(Format("%d of %s", 3, "four"), "3 of four");
  EXPECT_EQ(Format("%s", std::string(1000, 'x').c_str()), std::string(511, 'x'));
}

TEST(SteadyTime, UnitsAgree) {
  const int64_t ns = NowNs();
  const int64_t ms = NowMs();
  const double seconds = NowSeconds();
  EXPECT_LE(ns / 1'000'000, ms);
  EXPECT_LE(static_cast<double>(ms), seconds * 1e3 + 1);
}

TEST(WriteText, ReplacesTheFile) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("text");
  ASSERT_TRUE(WriteText(path, "a longer first text").ok());
  ASSERT_TRUE(WriteText(path, "second").ok());
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "second");
}

TEST(WriteText, KeepsThePermissionsOfTheFile) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("text");
  ASSERT_TRUE(WriteText(path, "first").ok());
  const auto own = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, own);
  ASSERT_TRUE(WriteText(path, "second").ok());
  EXPECT_EQ(std::filesystem::status(path).permissions(), own);
}

TEST(WriteText, LeavesTheOldFileIfTheNewOneCannotBeWritten) {
  const tests::TemporaryFolder folder;
  const std::string path = folder.path("text");
  ASSERT_TRUE(WriteText(path, "first").ok());
  const rlimit before = [] {
    rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit;
  }();
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteText(path, std::string(100'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, Unwritable("cannot write '" + path + "': File too large"));
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "first");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(WriteText, WritesThroughALinkAndToADevice) {
  const tests::TemporaryFolder folder;
  std::filesystem::create_symlink(folder.path("text"), folder.path("link"));
  ASSERT_TRUE(WriteText(folder.path("link"), "x").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path("text")));
  EXPECT_TRUE(WriteText("/dev/null", "x").ok());
  EXPECT_EQ(WriteText("/dev/full", "x"),
            Unwritable("cannot write '/dev/full': No space left on device"));
}

TEST(WriteText, SaysWhyAFileCannotBeWritten) {
  const Status status = WriteText("/proc/nowhere/text", "x");
  EXPECT_EQ(status.code(), StatusCode::kUnwritable);
  EXPECT_EQ(status.message(), "cannot write '/proc/nowhere/text': No such file or directory");
}

}  // namespace
}  // namespace mlc
