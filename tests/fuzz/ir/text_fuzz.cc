// Random kernels read back from their text as they were; damaged text gives an error or a kernel
// that verifies, never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/interpret/interpret.h"
#include "tests/fuzz/ir/random_kernel.h"

namespace mlc::ir {
namespace {

TEST(KernelText, RandomKernelsReadBack) {
  size_t longest = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed);
    const Kernel kernel = RandomKernel(rng);
    const Status status = kernel.Verify();
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString() << kernel.ToText();
    const std::string text = kernel.ToText();
    const Result<Kernel> read = Kernel::Parse(text);
    ASSERT_TRUE(read.ok()) << "seed " << seed << ": " << read.status().ToString() << text;
    ASSERT_EQ(read->ToText(), text) << "seed " << seed;
    longest = std::max(longest, text.size());
  }
  EXPECT_GT(longest, 2000u);
}

void Damage(std::string& text, Rng& rng) {
  constexpr std::string_view kPieces[] = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          "(",
                                          ")",
                                          ",",
                                          "=",
                                          "..",
                                          "for",
                                          "if",
                                          "let",
                                          "add",
                                          "select",
                                          "f32",
                                          "lanes",
                                          "mask",
                                          "-1",
                                          "99999999999999999999",
                                          "v0",
                                          "threads",
                                          "overlays",
                                          "barrier",
                                          "wait_copies",
                                          "copy_async",
                                          "load_matrix",
                                          "mma",
                                          "warpgroup_mma",
                                          "columns",
                                          "roles",
                                          "mbarrier_wait",
                                          "copy_tensor",
                                          "signals",
                                          "arrive",
                                          "part",
                                          "of",
                                          "b0",
                                          "\n",
                                          "#",
                                          "\xff"};
  const size_t at = rng.Below(text.size());
  switch (rng.Below(4)) {
    case 0:
      text.erase(at, 1 + rng.Below(8));
      return;
    case 1:
      text[at] = static_cast<char>(rng.Below(256));
      return;
    case 2:
      text.insert(at, kPieces[rng.Below(std::size(kPieces))]);
      return;
    default:
      text.insert(at, text.substr(rng.Below(text.size()), rng.Below(40)));
  }
}

TEST(KernelText, DamagedTextNeverCrashes) {
  int accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Rng rng(seed);
    std::string text = RandomKernel(rng).ToText();
    for (uint64_t edits = 1 + rng.Below(3); edits > 0 && !text.empty(); --edits) Damage(text, rng);
    const Result<Kernel> kernel = Kernel::Parse(text);
    if (!kernel.ok()) {
      ASSERT_EQ(kernel.status().code(), StatusCode::kInvalidArgument);
      ++refused;
      continue;
    }
    ++accepted;
    ASSERT_TRUE(kernel->Verify().ok());
    ASSERT_EQ(Kernel::Parse(kernel->ToText())->ToText(), kernel->ToText());
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10000);
}

// Random kernels rarely run to the end; they must stop at a fault, not crash.
TEST(KernelText, RandomKernelsInterpretOrFault) {
  int finished = 0, stopped = 0, gpu = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Rng rng(seed);
    const Kernel kernel = RandomKernel(rng);
    // Loops inside a phase have random bounds and may run for years.
    const std::string text = kernel.ToText();
    if (text.find("    for ") != std::string::npos) continue;
    if (text.find("unrolled") != std::string::npos) continue;
    gpu += kernel.IsGpu();
    std::vector<std::vector<std::byte>> storage;
    std::vector<std::span<std::byte>> params;
    for (int i = 0; i < kernel.NumParams(); ++i) {
      storage.emplace_back(static_cast<size_t>(kernel.buffers[static_cast<size_t>(i)].size) * 8);
    }
    for (auto& bytes : storage) params.emplace_back(bytes);
    (Interpret(kernel, params).ok() ? finished : stopped) += 1;
  }
  EXPECT_GT(finished, 50);
  EXPECT_GT(stopped, 50);
  EXPECT_GT(gpu, 50);
}

}  // namespace
}  // namespace mlc::ir
