#include "compiler/build/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler/build/child_process.h"
#include "compiler/build/cubin_cache.h"

namespace mlc::build {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSource =
    "extern \"C\" __global__ void add(float* x) { x[threadIdx.x] += 1.0f; }\n";

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Nvrtc>> opened = Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!opened.ok()) {
      ASSERT_EQ(opened.status().code(), StatusCode::kNotFound);
      GTEST_SKIP() << opened.status().message();
    }
    nvrtc_ = *std::move(opened);
  }
  std::unique_ptr<Nvrtc> nvrtc_;
};

TEST_F(NvrtcTest, CompilesToDeviceCodeAndSaysWhatItUses) {
  const Result<CudaBinary> binary = nvrtc_->Compile(kSource, "sm_90a");
  ASSERT_TRUE(binary.ok()) << binary.status().ToString();
  EXPECT_EQ(binary->image.substr(1, 3), "ELF");
  ASSERT_EQ(binary->resources.size(), 1u);
  EXPECT_EQ(binary->resources[0].function, "add");
  EXPECT_GT(binary->resources[0].registers, 0);
  EXPECT_EQ(binary->resources[0].spill_store_bytes, 0);
}

TEST_F(NvrtcTest, CompilesToPtx) {
  const Result<CudaBinary> binary = nvrtc_->Compile(kSource, "compute_80");
  ASSERT_TRUE(binary.ok()) << binary.status().ToString();
  EXPECT_THAT(binary->image, HasSubstr(".visible .entry add("));
}

TEST_F(NvrtcTest, RefusedSourceComesWithTheCompilersWords) {
  const Result<CudaBinary> binary = nvrtc_->Compile("void f() { return nothing; }", "sm_80");
  ASSERT_FALSE(binary.ok());
  EXPECT_EQ(binary.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(binary.status().message(), HasSubstr("refuses the source for sm_80"));
  EXPECT_THAT(binary.status().message(), HasSubstr("nothing"));
}

TEST_F(NvrtcTest, UnknownArchitectureIsAnError) {
  const Result<CudaBinary> binary = nvrtc_->Compile(kSource, "sm_7");
  ASSERT_FALSE(binary.ok());
  EXPECT_THAT(binary.status().message(), HasSubstr("sm_7"));
}

TEST_F(NvrtcTest, ChildrenCompileWithTheLibraryOfTheirParent) {
  const fs::path folder = fs::path(testing::TempDir()) / "nvrtc_children";
  fs::remove_all(folder);
  const Result<CubinCache> cache = CubinCache::Open(folder.string(), 1 << 20);
  ASSERT_TRUE(cache.ok()) << cache.status().ToString();
  const auto source = [](int job) {
    return std::string(kSource) + "// " + std::to_string(job) + "\n";
  };
  const Status status = RunInChildren(3, 2, [&](int job) -> Status {
    MLC_TRY(CompileCached(*cache, *nvrtc_, source(job), "sm_80"));
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (int job = 0; job < 3; ++job) {
    EXPECT_TRUE(cache->Find(CubinCache::KeyOf(*nvrtc_, source(job), "sm_80")).has_value());
  }
}

TEST_F(NvrtcTest, KeysTellSourcesAndDevicesApart) {
  EXPECT_NE(CubinCache::KeyOf(*nvrtc_, "a", "sm_80"), CubinCache::KeyOf(*nvrtc_, "b", "sm_80"));
  EXPECT_NE(CubinCache::KeyOf(*nvrtc_, "a", "sm_80"), CubinCache::KeyOf(*nvrtc_, "a", "sm_90a"));
  EXPECT_EQ(CubinCache::KeyOf(*nvrtc_, "a", "sm_80"), CubinCache::KeyOf(*nvrtc_, "a", "sm_80"));
}

TEST(CompilerLog, ResourcesAndWarningsAreRead) {
  CudaBinary binary;
  binary.log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async are serialized\n"
      "ptxas info    : (C7509) something harmless\n"
      "ptxas info    : Compiling entry function 'first_p0' for 'sm_90a'\n"
      "    16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 4096 bytes smem\n"
      "ptxas info    : Compiling entry function 'second_p1' for 'sm_90a'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 12 registers";
  ReadCompilerLog(&binary);
  EXPECT_THAT(binary.resources, ElementsAre(CudaResources{"first_p0", 168, 16, 24, 8, 4096},
                                            CudaResources{"second_p1", 12, 0, 0, 0, 0}));
  EXPECT_THAT(binary.performance_warnings, ElementsAre(HasSubstr("C7510")));
}

class CubinCacheTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  CubinCache Opened(int64_t max_bytes) {
    Result<CubinCache> cache = CubinCache::Open(folder_.string(), max_bytes);
    EXPECT_TRUE(cache.ok()) << cache.status().ToString();
    return *std::move(cache);
  }
  static CudaBinary Binary(size_t bytes) {
    CudaBinary binary;
    binary.image = std::string(bytes, 'x');
    binary.log = "ptxas info    : Compiling entry function 'f' for 'sm_80'\nUsed 9 registers";
    ReadCompilerLog(&binary);
    return binary;
  }
  fs::path OnlyFile() const { return fs::directory_iterator(folder_)->path(); }

  const fs::path folder_ = fs::path(testing::TempDir()) / "cubin_cache_test";
};

TEST_F(CubinCacheTest, FindsWhatWasPut) {
  const CubinCache cache = Opened(1 << 20);
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(100)).ok());
  EXPECT_EQ(cache.Find(DigestOf("k")), Binary(100));
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(50)).ok());
  EXPECT_EQ(cache.Find(DigestOf("k")), Binary(50));
}

TEST_F(CubinCacheTest, DamagedFilesCountAsAbsent) {
  const CubinCache cache = Opened(1 << 20);
  ASSERT_TRUE(cache.Put(DigestOf("k"), Binary(100)).ok());
  const std::string whole = Encode(Binary(100));
  for (const size_t size : {size_t{0}, size_t{10}, whole.size() - 1}) {
    std::ofstream(OnlyFile(), std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(cache.Find(DigestOf("k")).has_value()) << size;
  }
  std::string changed = whole;
  changed[whole.size() / 2] ^= 1;
  std::ofstream(OnlyFile(), std::ios::binary) << changed;
  EXPECT_FALSE(cache.Find(DigestOf("k")).has_value());
  EXPECT_EQ(DecodeCudaBinary(changed).status().code(), StatusCode::kDataLoss);
}

TEST_F(CubinCacheTest, TheOldestGoFirst) {
  const CubinCache cache = Opened(2500);
  const auto age = [&](const char* key, int hours) {
    const fs::path file = folder_ / (DigestOf(key).ToText() + ".cubin");
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  ASSERT_TRUE(cache.Put(DigestOf("a"), Binary(1000)).ok());
  age("a", 3);
  ASSERT_TRUE(cache.Put(DigestOf("b"), Binary(1000)).ok());
  age("b", 2);
  EXPECT_TRUE(cache.Find(DigestOf("a")).has_value());  // used just now
  ASSERT_TRUE(cache.Put(DigestOf("c"), Binary(1000)).ok());
  EXPECT_TRUE(cache.Find(DigestOf("a")).has_value());
  EXPECT_FALSE(cache.Find(DigestOf("b")).has_value());
  EXPECT_TRUE(cache.Find(DigestOf("c")).has_value());
}

TEST_F(CubinCacheTest, FolderThatCannotBeMadeIsAnError) {
  const Result<CubinCache> cache = CubinCache::Open("/dev/null/cache", 1);
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(cache.status().message(), HasSubstr("/dev/null/cache"));
}

}  // namespace
}  // namespace mlc::build
