// Operators that ONNX Runtime's tools add, against formulas: fused/make_cases.py writes the cases.
// MLC_ONNX_FUSED names the folder; without it the test skips.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conformance/onnx/onnx_case.h"

namespace mlc::graph::onnx {
namespace {

TEST(FusedCases, EveryOneGivesWhatItsFormulaGives) {
  const char* const root = std::getenv("MLC_ONNX_FUSED");
  if (root == nullptr) GTEST_SKIP() << "MLC_ONNX_FUSED names no folder of cases";
  const Result<std::vector<OnnxCase>> cases = ReadManifest(root);
  ASSERT_TRUE(cases.ok()) << cases.status().ToString();
  EXPECT_GT(cases->size(), 50u);
  for (const OnnxCase& test : *cases) {
    const Status status = RunCase(test);
    EXPECT_TRUE(status.ok()) << test.name << ": " << status.ToString();
  }
}

}  // namespace
}  // namespace mlc::graph::onnx
