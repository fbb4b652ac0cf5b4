#include "compiler/runtime/packed_code.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/unit/runtime/packed_kernels.h"

namespace {

class PackedCode : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 40; ++i) {
      last_ = kernels_.Add("kernel " + std::to_string(i * i) + std::string(100, 'x'));
    }
    packed_ = kernels_.Pack();
  }
  void TearDown() override { free(code_); }

  mlc_status Unpack() {
    free(code_);
    return mlc_unpack_code(&packed_, &code_);
  }
  bool IsWhole() const {
    return code_ != nullptr &&
           std::memcmp(code_, kernels_.bytes().data(), kernels_.bytes().size()) == 0;
  }

  PackedKernels kernels_;
  mlc_packed_code packed_ = {};
  int64_t last_ = 0;
  char* code_ = nullptr;
};

TEST_F(PackedCode, IsUnpackedAligned) {
  EXPECT_LT(packed_.frame_bytes, packed_.bytes / 4);
  ASSERT_EQ(Unpack(), MLC_OK);
  EXPECT_TRUE(IsWhole());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(code_ + last_) % MLC_CODE_ALIGNMENT, 0u);
  EXPECT_TRUE(std::string(code_ + last_).starts_with("kernel 1521xxx")) << "text ends in 0";
}

TEST_F(PackedCode, DamagedBytesAreNeverTakenForCode) {
  int refused = 0, tried = 0;
  for (char& byte : kernels_.frame()) {
    for (const int bit : {0, 1, 3, 7}) {
      byte = static_cast<char>(byte ^ 1 << bit);
      const mlc_status status = Unpack();
      // Some bits mean nothing.
      if (status == MLC_OK) {
        ASSERT_TRUE(IsWhole());
      } else {
        ASSERT_EQ(status, MLC_BAD_WEIGHTS);
        ASSERT_EQ(code_, nullptr);
        ++refused;
      }
      byte = static_cast<char>(byte ^ 1 << bit);
      ++tried;
    }
  }
  EXPECT_GT(refused, tried * 9 / 10);
  EXPECT_EQ(Unpack(), MLC_OK);
}

TEST_F(PackedCode, OldFormatsOfZstdAreRefused) {
  for (const char version : {0x25, 0x26, 0x27}) {
    kernels_.frame()[0] = version;
    EXPECT_EQ(Unpack(), MLC_BAD_WEIGHTS);
  }
}

TEST_F(PackedCode, OfAnotherLengthIsDamaged) {
  const mlc_packed_code whole = packed_;
  for (const int64_t frame_bytes : {int64_t{0}, int64_t{3}, int64_t{9}, whole.frame_bytes - 1}) {
    packed_.frame_bytes = frame_bytes;
    EXPECT_EQ(Unpack(), MLC_BAD_WEIGHTS) << frame_bytes;
  }
  packed_ = whole;
  for (const int64_t more : {-1, 1}) {
    packed_.bytes = whole.bytes + more;
    EXPECT_EQ(Unpack(), MLC_BAD_WEIGHTS) << more;
  }
  kernels_.frame() += "behind it";
  packed_ = {kernels_.frame().data(), static_cast<int64_t>(kernels_.frame().size()), whole.bytes};
  EXPECT_EQ(Unpack(), MLC_BAD_WEIGHTS);
}

}  // namespace
