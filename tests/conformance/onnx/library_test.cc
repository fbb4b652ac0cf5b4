// The ONNX backend test data through libraries. MLC_ONNX_TESTS names folders (separated by ':')
// that each hold a MANIFEST.tsv; without it the test skips. Every case that does not pass is
// written, with its reason, to onnx_libraries.tsv in the build folder. MLC_ONNX_ONLY is a part of
// the names of the cases to run, for a look at some; then there is no gate.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conformance/onnx/compiled_runner.h"

namespace mlc::graph::onnx {
namespace {

TEST(OnnxLibraries, PassTheGateOfEachTier) {
  const char* const roots = std::getenv("MLC_ONNX_TESTS");
  if (roots == nullptr) GTEST_SKIP() << "MLC_ONNX_TESTS names no test data";
  const char* const only = std::getenv("MLC_ONNX_ONLY");
  const Result<TierScores> scores =
      RunLibraries(roots, "onnx_libraries.tsv", only == nullptr ? "" : only);
  ASSERT_TRUE(scores.ok()) << scores.status().ToString();
  if (only != nullptr) return;
  EXPECT_GE(TierScores::Sum(scores->all, 1).Rate(), 0.98);
  EXPECT_GE(TierScores::Sum(scores->all, 2).Rate(), 0.97);
  EXPECT_GE(scores->all.at(3).Rate(), 0.90);
}

}  // namespace
}  // namespace mlc::graph::onnx
