// The ONNX backend test data against the importer and the reference evaluator. MLC_ONNX_TESTS
// names folders (separated by ':') that each hold a MANIFEST.tsv; without it the test skips. Every
// case that does not pass is written, with its reason, to onnx_conformance.tsv in the build folder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "tests/conformance/onnx/onnx_case.h"

namespace mlc::graph::onnx {
namespace {

struct Score {
  int passed = 0;
  int total = 0;
  double Rate() const { return total == 0 ? 1.0 : static_cast<double>(passed) / total; }
};

// Element types without a counterpart in the graph: unsigned 16 to 64 bits, strings, 8-bit floats.
bool NeedsMissingType(const Status& status) {
  return status.code() == StatusCode::kUnimplemented &&
         status.message().find("element type") != std::string::npos;
}

// Low-bit types, and expectations known to be doubtful, are outside the gate.
bool IsClean(const OnnxCase& test) {
  return !test.Has("lowbit") && !test.Has("disputed") && !test.Has("loose") &&
         !test.Has("ort-mismatch");
}

TEST(OnnxNodes, PassTheGateOfEachTier) {
  const char* const roots = std::getenv("MLC_ONNX_TESTS");
  if (roots == nullptr) GTEST_SKIP() << "MLC_ONNX_TESTS names no test data";
  std::ofstream report(std::string(MLC_BINARY_DIR) + "/onnx_conformance.tsv");
  std::map<int, Score> clean;
  std::map<int, Score> all;
  std::map<int, int> missing_type;
  std::istringstream list(roots);
  for (std::string root; std::getline(list, root, ':');) {
    const Result<std::vector<OnnxCase>> cases = ReadManifest(root);
    ASSERT_TRUE(cases.ok()) << cases.status().ToString();
    for (const OnnxCase& test : *cases) {
      const Status status = RunCase(test);
      if (NeedsMissingType(status)) {
        ++missing_type[test.tier];
        continue;
      }
      for (Score* const score : {&all[test.tier], IsClean(test) ? &clean[test.tier] : nullptr}) {
        if (score == nullptr) continue;
        ++score->total;
        score->passed += status.ok() ? 1 : 0;
      }
      if (status.ok()) continue;
      EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
      report << test.tier << '\t' << (IsClean(test) ? "clean" : "other") << '\t' << test.op << '\t'
             << test.name << '\t' << status.ToString() << '\n';
    }
  }
  for (const auto& [tier, score] : all) {
    std::cout << "tier " << tier << ": " << score.passed << " of " << score.total << " pass, clean "
              << clean[tier].passed << " of " << clean[tier].total << ", " << missing_type[tier]
              << " of types that the graph does not have\n";
  }
  EXPECT_GE(clean[1].Rate(), 0.95);
  Score both = {clean[1].passed + clean[2].passed, clean[1].total + clean[2].total};
  EXPECT_GE(both.Rate(), 0.85);
}

}  // namespace
}  // namespace mlc::graph::onnx
