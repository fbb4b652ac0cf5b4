// Operators that ONNX Runtime's tools add, through libraries: fused/make_cases.py writes the cases.
// MLC_ONNX_FUSED names the folder; without it the test skips.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conformance/onnx/compiled_runner.h"

namespace mlc::graph::onnx {
namespace {

TEST(FusedLibraries, GiveWhatTheFormulasGive) {
  const char* const root = std::getenv("MLC_ONNX_FUSED");
  if (root == nullptr) GTEST_SKIP() << "MLC_ONNX_FUSED names no folder of cases";
  const Result<TierScores> scores = RunLibraries(root, "onnx_fused_libraries.tsv");
  ASSERT_TRUE(scores.ok()) << scores.status().ToString();
  const Score all = TierScores::Sum(scores->all, 1);
  EXPECT_GT(all.total, 50);
  EXPECT_EQ(all.passed, all.total) << "onnx_fused_libraries.tsv names the others";
}

}  // namespace
}  // namespace mlc::graph::onnx
