// Imports a model from bytes, and evaluates it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"
#include "tests/temporary_folder.h"
#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::graph::onnx {

class TempFolder : public tests::TemporaryFolder {
 public:
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
};

inline Result<Graph> ImportBytes(const std::string& bytes, const ImportOptions& options = {}) {
  const TempFolder folder;
  return ImportOnnx(folder.Write("model.onnx", bytes), options);
}

inline TensorDataRef Floats(const std::vector<int64_t>& dims, const std::vector<double>& values) {
  return WriteDoubles(DType::kF32, dims, values);
}

// Elements of the first output; empty with a failure if anything goes wrong.
inline std::vector<double> EvaluateFirst(const Result<Graph>& graph,
                                         const std::vector<TensorDataRef>& inputs) {
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  if (!graph.ok()) return {};
  const Result<std::vector<TensorDataRef>> outputs = Evaluate(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
  if (!outputs.ok()) return {};
  return ReadDoubles(*outputs->front());
}

// Runs one node on one float operand "x" (and constant operands) to "y".
inline std::vector<double> RunNode(const std::string& node, int64_t opset,
                                   const std::vector<int64_t>& dims, const std::vector<double>& x,
                                   const std::vector<std::string>& initializers = {}) {
  wire::GraphParts parts;
  parts.nodes = {node};
  parts.initializers = initializers;
  parts.inputs = {wire::FloatValue("x", dims)};
  parts.outputs = {wire::FloatValue("y", {})};
  return EvaluateFirst(ImportBytes(wire::Model(parts, opset)), {Floats(dims, x)});
}

}  // namespace mlc::graph::onnx
