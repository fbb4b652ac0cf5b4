#include "client/model/tensor_files.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "client/model/model_library.h"

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

// More than there is of memory, in a file that takes none; the thread sanitizer leaves mappings
// half a terabyte of addresses.
TEST_F(TensorFileFaults, MayClaimAnything) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (34359738368,)}";
  const fs::path path = folder_ / "input_0.npy";
  std::ofstream(path, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
  EXPECT_EQ(Read().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Read().message(), HasSubstr("the data are shorter than the shape"));
  std::error_code refused;
  fs::resize_file(path, (uintmax_t{1} << 37) + 10 + header.size(), refused);
  if (refused) GTEST_SKIP() << "no sparse files here: " << refused.message();
  const auto tensors = ReadTensors(folder_.string(), "input");
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ((*tensors)[0]->bytes.size(), size_t{1} << 37);
}

// So many bytes of an ELF file does the loader map; what follows is for debuggers.
size_t MappedBytes(const std::string& file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t mapped = 0;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, file.data() + header.e_phoff + i * sizeof(part), sizeof(part));
    if (part.p_type == PT_LOAD) mapped = std::max<size_t>(mapped, part.p_offset + part.p_filesz);
  }
  return mapped;
}

// A program of this test's own stands for a library: the loader is not asked.
TEST_F(TensorFileFaults, ALibraryThatWasCutShortIsNotLoaded) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(self), {});
  for (const size_t size : {size_t{100}, size_t{5000}, MappedBytes(bytes) - 1}) {
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
