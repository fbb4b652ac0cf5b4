// Products of float8 with a scale for each block of 128, from the model to tasks.
#include <gtest/gtest.h>

#include <algorithm>
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

constexpr int64_t kRows = 64, kDepth = 640, kColumns = 256, kBlock = 128;
constexpr int64_t kBlocks = kDepth / kBlock;
constexpr int32_t kE4M3 = 17;
constexpr double kOtherCodes = 4e-2;

// How rows get their codes and scales.
enum class Form { kQdq, kPlain };

// A scale for each block of k and column; the same for 128 columns unless `by_column`.
std::vector<float> ColumnScales(bool by_column) {
  std::vector<float> scales(static_cast<size_t>(kBlocks * kColumns));
  for (size_t i = 0; i < scales.size(); ++i) {
    const size_t k = i / kColumns, n = i % kColumns;
    scales[i] = 0.01F * static_cast<float>(1 + k) + 0.003F * static_cast<float>(n / kBlock);
    if (by_column) scales[i] += 1e-3F * static_cast<float>(n % 7);
  }
  return scales;
}

// By scales that are an input, as known ones would be repeated at once.
void QuantizeRows(wire::GraphParts& parts) {
  const std::string blocks = wire::IntAttr("axis", 1) + wire::IntAttr("block_size", kBlock);
  const std::string zeros(static_cast<size_t>(kRows * kBlocks), '\0');
  parts.inputs.push_back(wire::FloatValue("x_scale", {kRows, kBlocks}));
  parts.initializers.push_back(wire::Tensor("zero", kE4M3, {kRows, kBlocks}, zeros));
  parts.nodes = {Node("QuantizeLinear", {"x", "x_scale", "zero"}, {"q"}, blocks),
                 Node("DequantizeLinear", {"q", "x_scale", "zero"}, {"d"}, blocks)};
}

// From the largest magnitude of each block.
void ScaleRows(wire::GraphParts& parts) {
  const auto ints = [&](const std::string& name, const std::vector<int64_t>& values) {
    parts.initializers.push_back(wire::IntTensor(name, values));
  };
  ints("split", {kRows, kBlocks, kBlock});
  ints("whole", {kRows, kDepth});
  ints("last", {-1});
  parts.initializers.push_back(wire::FloatTensor("factor", {}, {1.0F / 448}));
  parts.nodes = {Node("Reshape", {"x", "split"}, {"r"}),
                 Node("Abs", {"r"}, {"a"}),
                 Node("ReduceMax", {"a", "last"}, {"m"}, wire::IntAttr("keepdims", 1)),
                 Node("Mul", {"m", "factor"}, {"s"}),
                 Node("Div", {"r", "s"}, {"t"}),
                 Node("Cast", {"t"}, {"q"}, wire::IntAttr("to", kE4M3)),
                 Node("Cast", {"q"}, {"f"}, wire::IntAttr("to", 1)),
                 Node("Mul", {"f", "s"}, {"g"}),
                 Node("Reshape", {"g", "whole"}, {"d"})};
}

graph::Graph Model(Form form, bool by_column = false) {
  std::string codes(static_cast<size_t>(kDepth * kColumns), '\0');
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<char>((i * 37 % 113) | (i % 2 == 0 ? 0x80 : 0));
  }
  wire::GraphParts parts;
  parts.inputs = {wire::FloatValue("x", {kRows, kDepth})};
  parts.initializers = {wire::Tensor("w", kE4M3, {kDepth, kColumns}, codes),
                        wire::FloatTensor("w_scale", {kBlocks, kColumns}, ColumnScales(by_column))};
  form == Form::kQdq ? QuantizeRows(parts) : ScaleRows(parts);
  parts.nodes.push_back(Node("DequantizeLinear", {"w", "w_scale"}, {"v"},
                             wire::IntAttr("axis", 0) + wire::IntAttr("block_size", kBlock)));
  parts.nodes.push_back(Node("MatMul", {"d", "v"}, {"p"}));
  parts.nodes.push_back(Node("Relu", {"p"}, {"y"}));
  parts.outputs = {wire::FloatValue("y", {kRows, kColumns})};
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

int CountBlocks(const graph::Graph& graph) {
  int count = 0;
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    count += graph::IsProductOfBlocks(graph[id]) ? 1 : 0;
  }
  return count;
}

// The largest difference of both over the largest result.
double Difference(const graph::Graph& a, const graph::Graph& b, Form form) {
  std::vector<double> x(static_cast<size_t>(kRows * kDepth));
  for (size_t i = 0; i < x.size(); ++i) {
    // Blocks of very different sizes.
    x[i] = std::sin(static_cast<double>(i)) * (i / kBlock % 3 == 0 ? 3 : 1e-2);
  }
  std::vector<double> scales(static_cast<size_t>(kRows * kBlocks));
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 0.01 + 1e-3 * static_cast<double>(i % 5);
  std::vector<graph::TensorDataRef> inputs = {graph::WriteDoubles(DType::kF32, {kRows, kDepth}, x)};
  if (form == Form::kQdq) {
    inputs.push_back(graph::WriteDoubles(DType::kF32, {kRows, kBlocks}, scales));
  }
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

TEST(Float8Blocks, AreTasksWhereMatrixUnitsTakeThem) {
  for (const Form form : {Form::kQdq, Form::kPlain}) {
    const graph::Graph model = Model(form);
    FrontOptions options = ForTarget({}, Gpu(90));
    options.precision = graph::Precision::kFp16;
    const Result<graph::Graph> simplified = SimplifyGraph(model, options);
    ASSERT_TRUE(simplified.ok()) << simplified.status().message();
    EXPECT_EQ(CountBlocks(*simplified), 1) << simplified->ToText();
    EXPECT_LE(Difference(model, *simplified, form), kOtherCodes);
    const Result<graph::Program> program = BuildProgram(model, options);
    ASSERT_TRUE(program.ok()) << program.status().message();
    const graph::Workload& product = program->tasks.back().workload;
    EXPECT_EQ(CountBlocks(product.graph()), 1) << product.ToText();
    EXPECT_EQ(product.tolerance(), 4e-3);
  }
}

// Numbers of some 1e-5 over 448 would lose most of their bits in f16.
TEST(Float8Blocks, ScalesStayInSinglePrecision) {
  FrontOptions options = ForTarget({}, Gpu(90));
  options.precision = graph::Precision::kFp16;
  const Result<graph::Graph> graph = SimplifyGraph(Model(Form::kPlain), options);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (graph::ValueId id = 0; id < graph->size(); ++id) {
    const graph::Value& node = (*graph)[id];
    const bool of_blocks = node.type.NumElements() == kRows * kBlocks;
    if (!of_blocks || node.op != graph::Op::kPointwise) continue;
    EXPECT_EQ(node.type.dtype, DType::kF32) << graph->ToText();
  }
}

TEST(Float8Blocks, AreProductsOfOtherFloatsElsewhere) {
  const auto count = [](const graph::Graph& model, int compute, bool ranges) {
    FrontOptions options = ForTarget({}, Gpu(compute));
    options.precision = graph::Precision::kFp16;
    options.takes_ranges = ranges;
    const Result<graph::Graph> simplified = SimplifyGraph(model, options);
    EXPECT_TRUE(simplified.ok()) << simplified.status().message();
    EXPECT_LE(Difference(model, *simplified, Form::kQdq), kOtherCodes);
    return CountBlocks(*simplified);
  };
  EXPECT_EQ(count(Model(Form::kQdq), 80, false), 0);
  EXPECT_EQ(count(Model(Form::kQdq), 90, true), 0);
  EXPECT_EQ(count(Model(Form::kQdq, /*by_column=*/true), 90, false), 0);
  EXPECT_EQ(count(Model(Form::kQdq), 90, false), 1);
}

}  // namespace
}  // namespace mlc::front
