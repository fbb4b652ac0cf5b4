// The ONNX backend test data against the importer and the reference evaluator. MLC_ONNX_TESTS
// names folders (separated by ':') that each hold a MANIFEST.tsv; without it the test skips. Every
// case that does not pass is written, with its reason, to onnx_conformance.tsv in the build folder.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conformance/onnx/onnx_case.h"

namespace mlc::graph::onnx {
namespace {

TEST(OnnxNodes, PassTheGateOfEachTier) {
  const char* const roots = std::getenv("MLC_ONNX_TESTS");
  if (roots == nullptr) GTEST_SKIP() << "MLC_ONNX_TESTS names no test data";
  const std::string report = std::string(MLC_BINARY_DIR) + "/onnx_conformance.tsv";
  const Result<TierScores> scores = RunCases(roots, report, EvaluateModel);
  ASSERT_TRUE(scores.ok()) << scores.status().ToString();
  EXPECT_GE(TierScores::Sum(scores->all, 1).Rate(), 0.98);
  EXPECT_GE(TierScores::Sum(scores->all, 2).Rate(), 0.97);
  EXPECT_GE(scores->all.at(3).Rate(), 0.90);
}

}  // namespace
}  // namespace mlc::graph::onnx
