// Malformed and hostile models: each must be refused with one line, or imported, as the corpus
// says. MLC_ONNX_HOSTILE names the folder with its MANIFEST.tsv; without it the test skips. A model
// that the standard refuses only at run time may import and then fail to evaluate.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"

namespace mlc::graph::onnx {
namespace {

struct Row {
  std::string name;
  std::string expected;
  std::string note;
};

std::vector<Row> ReadRows(const std::string& root) {
  std::ifstream manifest(root + "/MANIFEST.tsv");
  std::string line;
  std::getline(manifest, line);
  std::vector<Row> rows;
  while (std::getline(manifest, line)) {
    std::istringstream columns(line);
    Row row;
    std::getline(columns, row.name, '\t');
    std::getline(columns, row.expected, '\t');
    std::getline(columns, row.note, '\t');
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(HostileModels, AreRefusedOrImportedAsTheCorpusSays) {
  const char* const root = std::getenv("MLC_ONNX_HOSTILE");
  if (root == nullptr) GTEST_SKIP() << "MLC_ONNX_HOSTILE names no corpus";
  const std::vector<Row> rows = ReadRows(root);
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name + " (" + row.note + ")");
    const auto start = std::chrono::steady_clock::now();
    const Result<Graph> graph =
        ImportOnnx(std::string(root) + "/" + row.name + "/model.onnx", ImportOptions{});
    const auto elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_LT(elapsed, std::chrono::seconds(60));
    if (row.expected == "accept") {
      EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    }
    if (row.expected == "reject") {
      EXPECT_FALSE(graph.ok());
    }
    if (graph.ok()) continue;
    const std::string& message = graph.status().message();
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(graph.status().code() == StatusCode::kInvalidArgument ||
                graph.status().code() == StatusCode::kUnimplemented)
        << graph.status().ToString();
    std::cout << row.name << ": " << graph.status().ToString() << "\n";
  }
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "kilobytes";
}

}  // namespace
}  // namespace mlc::graph::onnx
