// Whole networks against another runtime's outputs. MLC_ONNX_MODELS names a folder with NAME.onnx,
// NAME_inputs/input_K.pb and NAME_ref/output_K.pb; without it the test skips. MLC_ONNX_EVALUATE
// lists names (separated by ',') that are also evaluated, slowly, by the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<TensorDataRef> ReadTensors(const fs::path& folder, const std::string& prefix) {
  std::vector<TensorDataRef> tensors;
  for (size_t k = 0;; ++k) {
    const fs::path path = folder / (prefix + std::to_string(k) + ".pb");
    if (!fs::exists(path)) return tensors;
    const Result<TensorDataRef> tensor = ReadTensorFile(path);
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    if (!tensor.ok()) return tensors;
    tensors.push_back(*tensor);
  }
}

// Largest difference over the largest expected magnitude.
double RelativeError(const TensorData& got, const TensorData& want) {
  const std::vector<double> a = ReadDoubles(got);
  const std::vector<double> b = ReadDoubles(want);
  if (a.size() != b.size()) return 1;
  double error = 0;
  double scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error = std::max(error, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return error / scale;
}

void CheckModel(const fs::path& root, const std::string& name, bool evaluate) {
  SCOPED_TRACE(name);
  ImportOptions options;
  Result<Graph> graph = ImportOnnx(root / (name + ".onnx"), options);
  if (!graph.ok() && graph.status().message().find("--dim N") != std::string::npos) {
    options.dims["N"] = 1;
    graph = ImportOnnx(root / (name + ".onnx"), options);
  }
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  std::cout << name << ": " << graph->size() << " values\n";
  if (!evaluate) return;
  const Result<std::vector<TensorDataRef>> got =
      Evaluate(*graph, ReadTensors(root / (name + "_inputs"), "input_"));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  const std::vector<TensorDataRef> want = ReadTensors(root / (name + "_ref"), "output_");
  ASSERT_EQ(got->size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    EXPECT_EQ((*got)[k]->dims, want[k]->dims);
    EXPECT_LT(RelativeError(*(*got)[k], *want[k]), 1e-3) << "output " << k;
  }
}

TEST(OnnxModels, ImportAndAgreeWithTheirReference) {
  const char* const root = std::getenv("MLC_ONNX_MODELS");
  if (root == nullptr) GTEST_SKIP() << "MLC_ONNX_MODELS names no models";
  const char* const list = std::getenv("MLC_ONNX_EVALUATE");
  const std::string evaluated = "," + std::string(list == nullptr ? "" : list) + ",";
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem());
  }
  ASSERT_FALSE(names.empty());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    CheckModel(root, name, evaluated.find("," + name + ",") != std::string::npos);
  }
}

}  // namespace
}  // namespace mlc::graph::onnx
