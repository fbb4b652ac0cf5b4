#include "tests/golden/models.h"

#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::golden {

namespace {

namespace wire = graph::onnx::wire;

// Numbers that differ and sum to little.
std::string Weights(std::string_view name, const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 256;
  }
  return wire::FloatTensor(name, dims, values);
}

std::string ConvAttributes(int64_t kernel, int64_t stride) {
  const int64_t pad = kernel / 2;
  return wire::IntsAttr("kernel_shape", {kernel, kernel}) +
         wire::IntsAttr("strides", {stride, stride}) + wire::IntsAttr("pads", {pad, pad, pad, pad});
}

}  // namespace

std::string ResidualNetwork() {
  wire::GraphParts graph;
  graph.inputs = {wire::FloatValue("image", {1, 3, 16, 16})};
  graph.outputs = {wire::FloatValue("probabilities", {1, 10})};
  graph.initializers = {Weights("w0", {16, 3, 3, 3}),
                        Weights("w1", {16, 16, 3, 3}),
                        Weights("w2", {16, 16, 3, 3}),
                        Weights("w3", {10, 16}),
                        Weights("b3", {10}),
                        wire::FloatTensor("gain", {16}, std::vector(16, 2.f)),
                        Weights("shift", {16}),
                        Weights("mean", {16}),
                        wire::FloatTensor("variance", {16}, std::vector(16, 1.f))};
  graph.nodes = {
      wire::Node("Conv", {"image", "w0"}, {"c0"}, ConvAttributes(3, 2)),
      wire::Node("BatchNormalization", {"c0", "gain", "shift", "mean", "variance"}, {"n0"}),
      wire::Node("Relu", {"n0"}, {"r0"}),
      wire::Node("Conv", {"r0", "w1"}, {"c1"}, ConvAttributes(3, 1)),
      wire::Node("Relu", {"c1"}, {"r1"}),
      wire::Node("Conv", {"r1", "w2"}, {"c2"}, ConvAttributes(3, 1)),
      wire::Node("Add", {"c2", "r0"}, {"s2"}),
      wire::Node("Relu", {"s2"}, {"r2"}),
      wire::Node("GlobalAveragePool", {"r2"}, {"p"}),
      wire::Node("Flatten", {"p"}, {"f"}),
      wire::Node("Gemm", {"f", "w3", "b3"}, {"g"}, wire::IntAttr("transB", 1)),
      wire::Node("Softmax", {"g"}, {"probabilities"})};
  return wire::Model(graph);
}

std::string OneConvolution() {
  wire::GraphParts graph;
  graph.inputs = {wire::FloatValue("x", {1, 64, 28, 28})};
  graph.outputs = {wire::FloatValue("y", {1, 64, 28, 28})};
  graph.initializers = {Weights("w", {64, 64, 3, 3}), Weights("b", {64})};
  graph.nodes = {wire::Node("Conv", {"x", "w", "b"}, {"c"}, ConvAttributes(3, 1)),
                 wire::Node("Relu", {"c"}, {"y"})};
  return wire::Model(graph);
}

}  // namespace mlc::golden
