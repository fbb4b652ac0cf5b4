#include "tests/e2e/library/small_models.h"

#include "base/rng.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::testing {

namespace {

using graph::Graph;
using graph::Op;
using graph::Value;
using graph::ValueId;

ValueId Random(Graph& graph, std::vector<int64_t> dims, uint64_t seed) {
  Rng rng(seed);
  const graph::TensorType type{DType::kF32, dims, {}};
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  for (double& value : values) value = rng.Uniform() - 0.5;
  return graph.Constant(graph::WriteDoubles(DType::kF32, std::move(dims), values));
}

ValueId Add(Graph& graph, Op op, std::vector<ValueId> operands, graph::Attrs attrs = {}) {
  Value node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  return graph::AddNode(graph, std::move(node));
}

ValueId Relu(Graph& graph, ValueId x) {
  return graph.Pointwise(ScalarOp::kMax, {x, graph.Splat(DType::kF32, 0)});
}

using Ints = std::vector<int64_t>;

}  // namespace

Graph Perceptron() {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {4, 32}, {}}, "x");
  ValueId hidden = Add(graph, Op::kMatMul, {x, Random(graph, {32, 48}, 1)});
  hidden = Relu(graph, graph.Pointwise(ScalarOp::kAdd, {hidden, Random(graph, {48}, 2)}));
  const ValueId scores = Add(graph, Op::kMatMul, {hidden, Random(graph, {48, 10}, 3)});
  const ValueId weights = Add(graph, Op::kSoftmax, {scores}, {{"axis", int64_t{1}}});
  const ValueId mean =
      Add(graph, Op::kReduce, {hidden},
          {{"axes", Ints{1}}, {"keepdims", int64_t{0}}, {"kind", std::string("mean")}});
  graph.outputs() = {weights, mean};
  graph.output_names() = {"probabilities", "mean"};
  return graph;
}

Graph LongProducts() {
  Graph graph;
  ValueId x = graph.Input({DType::kF32, {24, 640}, {}}, "x");
  for (uint64_t layer = 0; layer < 4; ++layer) {
    x = Relu(graph, Add(graph, Op::kMatMul, {x, Random(graph, {640, 640}, 20 + layer)}));
  }
  graph.outputs() = {x};
  graph.output_names() = {"y"};
  return graph;
}

Graph WideProducts() {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {64, 128}, {}}, "x");
  const ValueId hidden = Relu(graph, Add(graph, Op::kMatMul, {x, Random(graph, {128, 96}, 31)}));
  const ValueId scores = Add(graph, Op::kMatMul, {hidden, Random(graph, {96, 64}, 32)});
  graph.outputs() = {Add(graph, Op::kSoftmax, {scores}, {{"axis", int64_t{1}}})};
  graph.output_names() = {"probabilities"};
  return graph;
}

Graph Convolutional() {
  Graph graph;
  const ValueId a = graph.Input({DType::kF32, {1, 3, 16, 16}, {}}, "a");
  const ValueId b = graph.Input({DType::kF32, {1, 3, 16, 16}, {}}, "b");
  const ValueId x = graph.Pointwise(ScalarOp::kAdd, {a, b});
  ValueId y = Add(graph, Op::kConv, {x, Random(graph, {16, 3, 3, 3}, 4)},
                  {{"dilations", Ints{1, 1}},
                   {"group", int64_t{1}},
                   {"pads", Ints{1, 1, 1, 1}},
                   {"strides", Ints{1, 1}}});
  y = Relu(graph, y);
  y = Add(graph, Op::kReduce, {y},
          {{"axes", Ints{2, 3}}, {"keepdims", int64_t{0}}, {"kind", std::string("mean")}});
  y = Add(graph, Op::kMatMul, {y, Random(graph, {16, 10}, 5)});
  graph.outputs() = {y};
  graph.output_names() = {"scores"};
  return graph;
}

Graph Sized(int64_t batch, int64_t length) {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {batch, length, 16}, {}}, "x");
  const ValueId y = graph.Input({DType::kF32, {batch, 16}, {}}, "y");
  const ValueId tokens = Relu(graph, Add(graph, Op::kMatMul, {x, Random(graph, {16, 24}, 41)}));
  const ValueId mean =
      Add(graph, Op::kReduce, {tokens},
          {{"axes", Ints{1}}, {"keepdims", int64_t{0}}, {"kind", std::string("mean")}});
  const ValueId scores = Add(graph, Op::kMatMul, {mean, Random(graph, {24, 16}, 42)});
  const ValueId sum = graph.Pointwise(ScalarOp::kAdd, {scores, y});
  graph.outputs() = {tokens, Add(graph, Op::kSoftmax, {sum}, {{"axis", int64_t{1}}})};
  graph.output_names() = {"tokens", "scores"};
  return graph;
}

Graph Cache(int64_t positions) {
  Graph graph;
  const ValueId past = graph.Input({DType::kF32, {positions, 4}, {}}, "past");
  const ValueId row = graph.Input({DType::kF32, {1, 4}, {}}, "row");
  const ValueId place = graph.Input({DType::kI64, {1, 1}, {}}, "place");
  const ValueId present = Add(graph, Op::kScatterND, {past, place, row});
  graph.outputs() = {present,
                     graph.Pointwise(ScalarOp::kMul, {present, graph.Splat(DType::kF32, 2)})};
  graph.output_names() = {"present", "twice"};
  return graph;
}

Graph Product(int64_t rows) {
  Graph graph;
  const ValueId x = graph.Input({DType::kF32, {rows, 256}, {}}, "x");
  graph.outputs() = {Add(graph, Op::kMatMul, {x, Random(graph, {256, 512}, 51)})};
  graph.output_names() = {"y"};
  return graph;
}

float InputValue(int port, int64_t i) {
  return static_cast<float>((i * 37 + port * 11) % 101) / 50.0f - 1.0f;
}

graph::TensorDataRef InputTensor(const Graph& graph, int port) {
  const graph::TensorType& type = graph[graph.Inputs()[static_cast<size_t>(port)]].type;
  std::vector<double> values(static_cast<size_t>(type.NumElements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = InputValue(port, static_cast<int64_t>(i));
  return graph::WriteDoubles(DType::kF32, type.dims, values);
}

}  // namespace mlc::testing
