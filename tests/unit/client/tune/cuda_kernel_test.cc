#include "client/tune/cuda_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mlc::client {
namespace {

using ::testing::HasSubstr;

class CudaKernelTest : public ::testing::Test {
 protected:
  CudaKernelTest() {
    std::filesystem::create_directories(folder_);
    options_.cuda_kernel = Write("k.cu", "extern \"C\" __global__ void k(float* p) { p[0] = 1; }");
    options_.workload = Write("w.txt",
                              "# task 0\nworkload v1 tolerance=1e-05 {\n%0 = input() : f32[64]\n"
                              "%1 = add(%0, %0) : f32[64]\nreturn %1\n}\n");
    options_.entry = "k";
    options_.grid = target::Dim3(2, 3, 4);
    options_.block = target::Dim3(16, 2, 5);
    options_.shared = 100;
  }
  ~CudaKernelTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
    return folder_ + "/" + name;
  }
  std::string Why() const { return ReadCudaKernel(options_, target_).status().message(); }

  const std::string folder_ = ::testing::TempDir() + "/mlc-cuda-kernel-" + std::to_string(getpid());
  const target::Target target_ = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  TuneOptions options_;
};

TEST_F(CudaKernelTest, IsReadFromItsFiles) {
  const auto kernel = ReadCudaKernel(options_, target_);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  EXPECT_EQ(kernel->entry(), "k");
  EXPECT_THAT(kernel->source(), HasSubstr("p[0] = 1"));
  EXPECT_EQ(kernel->blocks(), 2);
  EXPECT_EQ(kernel->blocks_y(), 3);
  EXPECT_EQ(kernel->blocks_z(), 4);
  EXPECT_EQ(kernel->threads(), 16);
  EXPECT_EQ(kernel->threads_y(), 2);
  EXPECT_EQ(kernel->threads_z(), 5);
  EXPECT_EQ(kernel->block_bytes(), 100);
  const auto program = ReadWorkload(options_);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  ASSERT_EQ(program->tasks.size(), 1u);
  EXPECT_EQ(program->tasks[0].uses, std::vector<int>{1});
  EXPECT_EQ(program->variants.size(), 1u);
}

TEST_F(CudaKernelTest, WhatCannotBeIsSaidWithItsFile) {
  options_.entry = "other";
  EXPECT_THAT(Why(), HasSubstr("k.cu': the source has no function 'other'"));
  options_.entry = "k";
  options_.shared = 300'000;
  EXPECT_THAT(Why(), HasSubstr("sm_90a has 232448"));
  options_.shared = 0;
  options_.cuda_kernel = Write("bad.cu", "void k() { \xff }");
  EXPECT_THAT(Why(), HasSubstr("bad.cu': the source is not UTF-8 text"));
  options_.cuda_kernel = Write("long.cu", "k" + std::string(2'000'000, ' '));
  EXPECT_THAT(Why(), HasSubstr("long.cu' is longer than 1 MiB"));
  options_.cuda_kernel = folder_ + "/none.cu";
  EXPECT_THAT(Why(), HasSubstr("cannot read '"));
  options_.cuda_kernel = folder_;
  EXPECT_THAT(Why(), HasSubstr("cannot read '"));
  options_.workload = Write("bad.txt", "workload v1 nonsense");
  EXPECT_THAT(ReadWorkload(options_).status().message(), HasSubstr("bad.txt': line 1"));
}

}  // namespace
}  // namespace mlc::client
