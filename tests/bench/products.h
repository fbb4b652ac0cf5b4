// The products that the benchmarks of the service tune.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "compiler/graph/workload.h"

namespace mlc::bench {

inline std::string MatrixType(int64_t rows, int64_t columns) {
  return graph::TensorType{DType::kF32, {rows, columns}, {}}.ToText();
}

// Of an input and a weight.
inline graph::Workload Product(int64_t rows, int64_t depth, int64_t columns) {
  Result<graph::Graph> graph = graph::Graph::Parse(
      "graph v1 {\n%0 = input() : " + MatrixType(rows, depth) +
      "\n%1 = weight() : " + MatrixType(depth, columns) +
      "\n%2 = matmul(%0, %1) : " + MatrixType(rows, columns) + "\nreturn %2\n}\n");
  return *graph::Workload::Create(*std::move(graph), 1e-4);
}

}  // namespace mlc::bench
