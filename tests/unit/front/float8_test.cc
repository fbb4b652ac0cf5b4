// Products of float8 as QuantizeLinear and DequantizeLinear spell them, from the model to tasks.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/front/front.h"
#include "compiler/graph/float8_product.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::front {
namespace {

using graph::onnx::ImportBytes;
namespace wire = graph::onnx::wire;
using wire::Node;

constexpr int64_t kRows = 64, kDepth = 640, kColumns = 512;
constexpr int32_t kE4M3 = 17;
// Rounded to f16 first, a number near the middle of two codes may get the other one.
constexpr double kOtherCodes = 4e-2;
constexpr double kOtherCodesOfBf16 = 8e-2;  // which rounds eight times as coarsely

// relu(dequantized(x) * dequantized(weights) + bias); Gemm reads weights [columns, depth].
graph::Graph Model(bool gemm, int64_t rows = kRows) {
  const std::vector<int64_t> dims =
      gemm ? std::vector<int64_t>{kColumns, kDepth} : std::vector<int64_t>{kDepth, kColumns};
  std::string codes(static_cast<size_t>(kDepth * kColumns), '\0');
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<char>((i * 37 % 113) | (i % 2 == 0 ? 0x80 : 0));
  }
  std::vector<float> scales(kColumns), bias(kColumns);
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] = 0.01F + 1e-4F * static_cast<float>(i % 50);
    bias[i] = 0.1F * static_cast<float>(i % 7);
  }
  wire::GraphParts parts;
  parts.initializers = {wire::Tensor("w", kE4M3, dims, codes),
                        wire::FloatTensor("w_scale", {kColumns}, scales),
                        wire::FloatTensor("x_scale", {}, {1.0F / 64}),
                        wire::Tensor("zero", kE4M3, {}, std::string(1, '\0')),
                        wire::FloatTensor("bias", {kColumns}, bias)};
  parts.nodes = {
      Node("QuantizeLinear", {"x", "x_scale", "zero"}, {"q"}),
      Node("DequantizeLinear", {"q", "x_scale", "zero"}, {"d"}),
      Node("DequantizeLinear", {"w", "w_scale"}, {"v"}, wire::IntAttr("axis", gemm ? 0 : 1))};
  if (gemm) {
    parts.nodes.push_back(Node("Gemm", {"d", "v", "bias"}, {"z"}, wire::IntAttr("transB", 1)));
  } else {
    parts.nodes.push_back(Node("MatMul", {"d", "v"}, {"p"}));
    parts.nodes.push_back(Node("Add", {"p", "bias"}, {"z"}));
  }
  parts.nodes.push_back(Node("Relu", {"z"}, {"y"}));
  parts.inputs = {wire::FloatValue("x", {rows, kDepth})};
  parts.outputs = {wire::FloatValue("y", {rows, kColumns})};
  Result<graph::Graph> graph = ImportBytes(wire::Model(parts, 21));
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? *std::move(graph) : graph::Graph();
}

target::Target Gpu(int compute) {
  target::Target target;
  target::GpuTarget gpu;
  gpu.compute = compute;
  gpu.arch_specific = compute == 90;
  target.device = gpu;
  return target;
}

int CountFloat8(const graph::Graph& graph) {
  int count = 0;
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    count += graph::IsProductOfFloat8(graph, graph[id]) ? 1 : 0;
  }
  return count;
}

// The largest difference of both over the largest result.
double Difference(const graph::Graph& a, const graph::Graph& b, int64_t rows = kRows) {
  std::vector<double> x(static_cast<size_t>(rows * kDepth));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * 3;
  const std::vector<graph::TensorDataRef> inputs = {
      graph::WriteDoubles(DType::kF32, {rows, kDepth}, x)};
  const auto p = graph::Evaluate(a, inputs), q = graph::Evaluate(b, inputs);
  EXPECT_TRUE(p.ok() && q.ok()) << p.status().message() << q.status().message();
  if (!p.ok() || !q.ok()) return 1;
  const std::vector<double> want = graph::ReadDoubles(*p->front()), got = ReadDoubles(*q->front());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(want[i]));
    worst = std::max(worst, std::abs(want[i] - got[i]));
  }
  return worst / largest;
}

TEST(Float8Products, AreTasksWhereMatrixUnitsTakeThem) {
  for (const bool gemm : {false, true}) {
    const graph::Graph model = Model(gemm);
    FrontOptions options = ForTarget({}, Gpu(90));
    options.precision = graph::Precision::kFp16;
    const Result<graph::Graph> simplified = SimplifyGraph(model, options);
    ASSERT_TRUE(simplified.ok()) << simplified.status().message();
    EXPECT_EQ(CountFloat8(*simplified), 1) << gemm;
    EXPECT_LE(Difference(model, *simplified), kOtherCodes);
    const Result<graph::Program> program = BuildProgram(model, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    ASSERT_EQ(program->tasks.size(), 2U);
    const graph::Workload& product = program->tasks[1].workload;
    EXPECT_EQ(CountFloat8(product.graph()), 1) << product.ToText();
    EXPECT_EQ(product.tolerance(), 4e-3);
    const graph::TensorType& result = product.graph()[product.outputs()[0]].type;
    EXPECT_EQ(result.dims, (std::vector<int64_t>{kRows, kColumns}));
  }
}

TEST(Float8Products, AreProductsOfOtherFloatsElsewhere) {
  const graph::Graph model = Model(false);
  const auto count = [&](const target::Target& target, graph::Precision precision) {
    FrontOptions options = ForTarget({}, target);
    options.precision = precision;
    const Result<graph::Graph> simplified = SimplifyGraph(model, options);
    EXPECT_TRUE(simplified.ok()) << simplified.status().message();
    EXPECT_LE(Difference(model, *simplified),
              precision == graph::Precision::kFp16 ? kOtherCodes : 1e-5);
    return CountFloat8(*simplified);
  };
  EXPECT_EQ(count(Gpu(80), graph::Precision::kFp16), 0);
  EXPECT_EQ(count(Gpu(90), graph::Precision::kModel), 0);
  EXPECT_EQ(count(Gpu(90), graph::Precision::kFp32), 0);
  EXPECT_EQ(count(Gpu(90), graph::Precision::kTf32), 1);
  EXPECT_EQ(count(target::Target{}, graph::Precision::kModel), 0);
}

// Products of few rows read the codes, on devices without products of float8, too.
TEST(Float8Products, OfFewRowsReadTheCodes) {
  constexpr int64_t kFew = 4;
  for (const bool gemm : {false, true}) {
    const graph::Graph model = Model(gemm, kFew);
    const auto packed = [&](const target::Target& target, graph::Precision precision) {
      FrontOptions options = ForTarget({}, target);
      options.precision = precision;
      const Result<graph::Graph> simplified = SimplifyGraph(model, options);
      EXPECT_TRUE(simplified.ok()) << simplified.status().message();
      EXPECT_LE(Difference(model, *simplified, kFew),
                precision == graph::Precision::kBf16 ? kOtherCodesOfBf16 : kOtherCodes);
      int count = 0;
      for (graph::ValueId id = 0; id < simplified->size(); ++id) {
        const graph::Value& node = (*simplified)[id];
        if (node.op != graph::Op::kDequantize) continue;
        ++count;
        EXPECT_EQ((*simplified)[node.operands[0]].type.dtype, DType::kF8E4M3Fn);
        EXPECT_EQ((*simplified)[node.operands[0]].type.dims,
                  (std::vector<int64_t>{kColumns, kDepth}));
      }
      return count;
    };
    EXPECT_EQ(packed(Gpu(90), graph::Precision::kFp16), 1) << gemm;
    EXPECT_EQ(packed(Gpu(80), graph::Precision::kBf16), 1) << gemm;
    EXPECT_EQ(packed(Gpu(90), graph::Precision::kModel), 0) << gemm;
    EXPECT_EQ(packed(target::Target{}, graph::Precision::kModel), 0) << gemm;
  }
}

}  // namespace
}  // namespace mlc::front
