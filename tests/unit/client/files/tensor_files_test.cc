#include "client/tensor_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "client/model_library.h"

namespace mlc::client {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TensorFileFaults : public ::testing::Test {
 protected:
  TensorFileFaults() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TensorFileFaults() override { fs::remove_all(folder_); }
  Status Read() const { return ReadTensors(folder_.string(), "input").status(); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "mlc-tensor-files";
};

TEST_F(TensorFileFaults, AreNamedWhenTheyAreBroken) {
  for (const char* name : {"input_0.pb", "input_0.npy"}) {
    std::ofstream(folder_ / name) << "\x08\xff nonsense";
    EXPECT_EQ(Read().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Read().message(), HasSubstr((folder_ / name).string()));
    fs::remove(folder_ / name);
  }
}

TEST_F(TensorFileFaults, AreRegularFiles) {
  for (const char* name : {"input_0.pb", "input_0.npy"}) {
    const fs::path path = folder_ / name;
    const auto expect_refused = [&] {
      EXPECT_EQ(Read().code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(Read().message(), HasSubstr("is not a regular file"));
      fs::remove(path);
    };
    fs::create_directory(path);
    expect_refused();
    fs::create_symlink("/dev/zero", path);
    expect_refused();
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    expect_refused();
    fs::create_symlink(name, path);  // of itself
    EXPECT_EQ(Read().code(), StatusCode::kNotFound);
    fs::remove(path);
  }
  EXPECT_EQ(ReadTensors(std::string(5000, 'x'), "input").status().code(), StatusCode::kNotFound);
}

// A program of this test's own stands for a library: the loader is not asked.
TEST_F(TensorFileFaults, ALibraryThatWasCutShortIsNotLoaded) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(self), {});
  for (const size_t size : {size_t{100}, size_t{5000}, bytes.size() / 2}) {
    std::ofstream(folder_ / "libm.so", std::ios::binary) << bytes.substr(0, size);
    const auto library = ModelLibrary::Open(folder_.string(), 1, 0);
    ASSERT_FALSE(library.ok());
    EXPECT_EQ(library.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(library.status().message(), HasSubstr("is cut short"));
  }
  std::ofstream(folder_ / "libm.so") << "nonsense";
  EXPECT_THAT(ModelLibrary::Open(folder_.string(), 1, 0).status().message(),
              HasSubstr("cannot load"));
}

}  // namespace
}  // namespace mlc::client
