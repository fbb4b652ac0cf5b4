#include "base/html/write_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace mlc::html {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class WritePageTest : public ::testing::Test {
 protected:
  WritePageTest() : folder_(::testing::TempDir() + "/mlc-write-page") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~WritePageTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(WritePageTest, ReplacesAFileAndLeavesNothingBeside) {
  const std::string path = folder_ + "/page.html";
  ASSERT_TRUE(WritePage(path, "one").ok());
  ASSERT_TRUE(WritePage(path, "two").ok());
  EXPECT_EQ(Contents(path), "two");
  const std::filesystem::directory_iterator all(folder_);
  EXPECT_EQ(std::distance(begin(all), end(all)), 1);
}

TEST_F(WritePageTest, SaysWhichFileCannotBeWritten) {
  for (const std::string& path : {folder_ + "/none/page.html", folder_, std::string()}) {
    const Status written = WritePage(path, "x");
    EXPECT_EQ(written.code(), StatusCode::kUnwritable);
    EXPECT_THAT(written.message(), ::testing::HasSubstr("cannot write '" + path));
    EXPECT_EQ(CheckPageWritable(path).code(), StatusCode::kUnwritable);
  }
  EXPECT_TRUE(CheckPageWritable(folder_ + "/page.html").ok());
}

TEST_F(WritePageTest, AFullDeviceIsAnError) {
  EXPECT_EQ(WritePage("/dev/full", "x").code(), StatusCode::kUnwritable);
}

}  // namespace
}  // namespace mlc::html
