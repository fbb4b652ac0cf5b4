#include "compiler/build/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/process/child_process.h"
#include "compiler/build/cubin_cache.h"
#include "tests/temporary_folder.h"

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
  const tests::TemporaryFolder folder;
  const Result<CubinCache> cache = CubinCache::Open(folder.path("cubins"), 1 << 20);
  ASSERT_TRUE(cache.ok()) << cache.status().ToString();
  const auto source = [](int job) {
    return std::string(kSource) + "// " + std::to_string(job) + "\n";
  };
  const Status status = RunInChildren(3, 2, [&](int job) -> Status {
    return cache->Put(CubinCache::KeyOf(*nvrtc_, source(job), "sm_80"),
                      MLC_TRY(nvrtc_->Compile(source(job), "sm_80")));
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

}  // namespace
}  // namespace mlc::build
