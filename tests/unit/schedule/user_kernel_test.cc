#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/schedule/cuda/user_kernel/packed_source.h"

namespace mlc::schedule {
namespace {

using ::testing::HasSubstr;

constexpr char kSource[] =
    "// Twice as much, na\xc3\xafvely.\n"
    "extern \"C\" __global__ void scale(const float* in, float* out) {\n"
    "  out[blockIdx.x * 256 + threadIdx.x] = 2.0f * in[blockIdx.x * 256 + threadIdx.x];\n"
    "}\n";

UserKernel Scale() { return {"scale", kSource, 4, 256, 1024}; }

TEST(UserKernel, ItsConfigReadsBack) {
  const Result<Config> config = Scale().ToConfig();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const std::string text = config->ToText();
  const std::string head =
      "user_kernel/1 blocks=4 blocks_y=1 blocks_z=1 threads=256 threads_y=1 threads_z=1 "
      "block_bytes=1024 entry=scale ";
  EXPECT_TRUE(text.starts_with(head + "source=")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Result<Config> read = Config::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, *config);
  EXPECT_EQ(read->ToText(), text);
  const Result<UserKernel> user_kernel = UserKernel::FromConfig(*read);
  ASSERT_TRUE(user_kernel.ok()) << user_kernel.status().ToString();
  EXPECT_EQ(*user_kernel, Scale());
  EXPECT_TRUE(IsUserKernel(*read));
  EXPECT_TRUE(IsUserKernel(text));
  EXPECT_FALSE(IsUserKernel("user_kernel_2/1 blocks=4"));
  EXPECT_EQ(BriefConfig(text), head + "(user-supplied)");
  EXPECT_EQ(BriefConfig("contraction/1 mr=4"), "contraction/1 mr=4");
}

TEST(UserKernel, IsOfNoFamily) {
  EXPECT_EQ(FindFamily(kUserKernel), nullptr);
  const Result<graph::Workload> workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-05 {\n%0 = input() : f32[1024]\n%1 = weight() : f32[1024]\n"
      "%2 = add(%0, %1) : f32[1024]\nreturn %2\n}\n");
  const target::Target target = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  EXPECT_EQ(LowerConfig(*workload, target, *Scale().ToConfig()).status().code(),
            StatusCode::kNotFound);
  const std::vector<Binding> bindings = UserKernelBindings(*workload);
  ASSERT_EQ(bindings.size(), 3u);
  EXPECT_EQ(bindings[1].kind, Binding::Kind::kOperand);
  EXPECT_EQ(bindings[1].index, 1);
  EXPECT_EQ(bindings[2].kind, Binding::Kind::kOutput);
  EXPECT_TRUE(CheckFits(Scale(), target).ok());
  EXPECT_THAT(CheckFits(Scale(), target::DetectHost(1)).message(), HasSubstr("cannot run on"));
  UserKernel large = Scale();
  large.block_bytes = 232449;
  EXPECT_THAT(CheckFits(large, target).message(), HasSubstr("sm_90a has 232448"));
}

TEST(UserKernel, WhatNoDeviceCanRunIsExplained) {
  const auto why = [](const UserKernel& user_kernel) {
    return user_kernel.ToConfig().status().message();
  };
  UserKernel user_kernel = Scale();
  user_kernel.entry = "scalar";
  EXPECT_THAT(why(user_kernel), HasSubstr("the source has no function 'scalar'"));
  for (const char* name : {"", "2x", "a-b", "a b", "ns::f"}) {
    user_kernel.entry = name;
    EXPECT_THAT(why(user_kernel), HasSubstr("is not the name of a function")) << name;
  }
  user_kernel = Scale();
  for (const target::Dim3& grid :
       {target::Dim3(0), target::Dim3(1, 65536), target::Dim3(1, 1, 0)}) {
    user_kernel.grid = grid;
    EXPECT_THAT(why(user_kernel), HasSubstr("1 to 2147483647 blocks")) << grid.ToText();
  }
  user_kernel = Scale();
  for (const target::Dim3& block :
       {target::Dim3(1025), target::Dim3(33, 32), target::Dim3(1, 1, 65), target::Dim3(32, 0),
        target::Dim3(INT64_MAX, 2, 2)}) {
    user_kernel.block = block;
    EXPECT_THAT(why(user_kernel), HasSubstr("1 to 1024 threads")) << block.ToText();
  }
  user_kernel = Scale();
  user_kernel.block_bytes = -1;
  EXPECT_THAT(why(user_kernel), HasSubstr("a block cannot have -1 bytes"));
  user_kernel = Scale();
  user_kernel.source.clear();
  EXPECT_EQ(why(user_kernel), "the source is empty");
  user_kernel.source = kSource + std::string(kMaxSource, ' ');
  EXPECT_THAT(why(user_kernel), HasSubstr("at most 1 MiB is accepted"));
  user_kernel.source = kSource;
  user_kernel.source[5] = '\0';
  EXPECT_THAT(why(user_kernel), HasSubstr("not UTF-8 text: see byte 5"));
}

// Printable noise, which hardly compresses, as a comment.
std::string Noise(size_t bytes) {
  std::string noise = std::string(kSource) + "//";
  for (Rng rng(1); noise.size() < bytes;) noise += static_cast<char>('!' + rng.Below(90));
  return noise;
}

TEST(UserKernel, WorkersAndBuildsNameItsVersion) {
  EXPECT_THAT(UserKernelNames(), ::testing::ElementsAre("user_kernel/1", "user_kernel/2"));
  EXPECT_EQ(UserKernelName(Scale().ToConfig()->ToText()), UserKernelNames().front());
  EXPECT_EQ(UserKernelName("user_kernel/3 of=later"), "user_kernel/3");
}

TEST(UserKernel, EveryKernelReadsBack) {
  Rng rng(5);
  for (int i = 0; i < 200; ++i) {
    UserKernel user_kernel = Scale();
    const auto extent = [&](int64_t most) {
      return 1 + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(most)));
    };
    user_kernel.grid = {extent(INT32_MAX), extent(i % 2 == 0 ? 1 : 65535),
                        extent(i % 3 == 0 ? 1 : 65535)};
    user_kernel.block = {extent(32), extent(i % 2 == 0 ? 1 : 8), extent(4)};
    user_kernel.block_bytes = extent(1 << 20);
    user_kernel.source = Noise(200 + rng.Below(30'000));
    const Result<Config> config = Config::Parse(user_kernel.ToConfig()->ToText());
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    const Result<UserKernel> back = UserKernel::FromConfig(*config);
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, user_kernel);
  }
}

TEST(UserKernel, TheLongestSourceHasAConfigWhateverItSays) {
  UserKernel user_kernel = Scale();
  user_kernel.source = Noise(1'000);
  // Two bytes a character: the most that UTF-8 lets noise be.
  for (Rng rng(2); user_kernel.source.size() + 2 <= kMaxSource;) {
    user_kernel.source +=
        {static_cast<char>(0xc2 + rng.Below(30)), static_cast<char>(0x80 + rng.Below(64))};
  }
  const std::string text = user_kernel.ToConfig()->ToText();
  EXPECT_LE(text.size(), size_t{3} << 19) << "the most that a log takes";
  EXPECT_EQ(UserKernel::FromConfig(*Config::Parse(text))->source, user_kernel.source);
  EXPECT_EQ(BriefConfig(text).find("source="), std::string::npos);
}

TEST(UserKernel, OnlyUtf8IsText) {
  for (const char* good :
       {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", "\x7f"}) {
    EXPECT_TRUE(PackSource(good).ok()) << good;
  }
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(PackSource(bad).ok()) << bad;
    EXPECT_FALSE(PackSource(std::string("ab") + bad + "c").ok()) << bad;
  }
}

TEST(UserKernel, EverySourceUnpacks) {
  std::string source;
  for (Rng rng(3); source.size() < 200;) {
    source += static_cast<char>(1 + rng.Below(127));
    const Result<std::string> word = PackSource(source);
    ASSERT_TRUE(word.ok());
    EXPECT_EQ(*UnpackSource(*word), source);
  }
  const std::string longest(kMaxSource, 'x');
  EXPECT_EQ(*UnpackSource(*PackSource(longest)), longest);
}

// Whoever writes a log or leads a worker to a lease writes the words.
TEST(UserKernel, HostileWordsAreRefused) {
  const std::string word = *PackSource(kSource);
  for (const std::string& bad :
       {std::string("x"), std::string("eJx"), word + "A", word + "AAAA", word.substr(0, 20),
        word + "=", "." + word, word + word, std::string(100'000, 'A'), std::string()}) {
    EXPECT_EQ(UnpackSource(bad).status().code(), StatusCode::kInvalidArgument) << bad.substr(0, 80);
  }
  for (size_t i = 0; i < word.size(); ++i) {
    std::string flipped = word;
    flipped[i] = flipped[i] == 'A' ? 'B' : 'A';
    // But for bits that stand for nothing.
    const Result<std::string> unpacked = UnpackSource(flipped);
    EXPECT_TRUE(!unpacked.ok() || *unpacked == kSource) << i;
  }
}

TEST(UserKernel, ConfigsOfAnotherFormAreRefused) {
  const std::string good = Scale().ToConfig()->ToText();
  const auto code = [](const std::string& text) {
    const Result<Config> config = Config::Parse(text);
    return config.ok() ? UserKernel::FromConfig(*config).status().code() : config.status().code();
  };
  EXPECT_EQ(code(good), StatusCode::kOk);
  const std::string newer = "user_kernel/3" + good.substr(13);
  EXPECT_EQ(
      UserKernel::FromConfig(*Config::Parse(newer)).status(),
      FailedPrecondition("the kernel is of user_kernel version 3, this build takes version 1: "
                         "submit its source again with mlc-tune --cuda-kernel"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& bad :
       {good + " more=1", good + " more=word", good + " source=x", std::string("user_kernel/1"),
        replaced("blocks=4 ", ""), replaced("threads=256", "threads=0"),
        replaced("threads=256", "threads=4294967297"), replaced("entry=scale", "entry=other"),
        replaced("entry=scale", "entry=7"), replaced("block_bytes=1024", "block_bytes=-1"),
        replaced("blocks=4 blocks_y=1", "blocks_y=1 blocks=4"), replaced("threads_z=1 ", "")}) {
    EXPECT_EQ(code(bad), StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(Config::Parse("contraction/1 mr=word").ok()) << "families have numbers alone";
}

}  // namespace
}  // namespace mlc::schedule
