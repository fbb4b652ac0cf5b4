#include "compiler/graph/passes/space_to_depth.h"

#include "compiler/graph/passes/pad_channels.h"
#include "compiler/graph/passes/rewrite.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

struct Shape {
  DType dtype = DType::kF16;
  std::vector<int64_t> image, kernel, strides, pads;  // image: N,C,H,W; kernel: h,w
};

// A convolution with two outputs and random weights; nothing if its result would be empty.
std::optional<Graph> ConvolutionOf(const Shape& shape, uint64_t seed) {
  Graph graph;
  Value image;
  image.op = Op::kInput;
  image.type = {shape.dtype, shape.image, {}};
  const ValueId x = graph.Add(image);
  const std::vector<int64_t> dims = {2, shape.image[1], shape.kernel[0], shape.kernel[1]};
  Rng rng(seed);
  std::vector<double> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  for (double& value : values) value = 2 * rng.Uniform() - 1;
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {x, graph.Constant(WriteDoubles(shape.dtype, dims, values), "w")};
  conv.attrs["strides"] = shape.strides;
  conv.attrs["pads"] = shape.pads;
  for (size_t d = 0; d < 2; ++d) {
    if (shape.image[d + 2] + shape.pads[d] + shape.pads[d + 2] < shape.kernel[d]) return {};
  }
  graph.outputs() = {AddNode(graph, conv)};
  graph.output_names() = {"y"};
  return graph;
}

const Value& ConvolutionIn(const Graph& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kConv) return graph[id];
  }
  ADD_FAILURE() << "no convolution";
  return graph[0];
}

TEST(SpaceToDepth, PairsOfColumnsAreEightChannels) {
  const std::optional<Graph> from =
      ConvolutionOf({DType::kF16, {1, 3, 224, 224}, {7, 7}, {2, 2}, {3, 3, 3, 3}}, 1);
  ASSERT_TRUE(from);
  Graph graph = *from;
  ASSERT_TRUE(PadChannels(graph).ok());
  const Value& conv = ConvolutionIn(graph);
  EXPECT_EQ(graph[conv.operands[0]].type.dims, (std::vector<int64_t>{1, 8, 224, 112}));
  EXPECT_EQ(graph[conv.operands[1]].type.dims, (std::vector<int64_t>{2, 8, 7, 4}));
  EXPECT_EQ(conv.Ints("strides"), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(conv.Ints("pads"), (std::vector<int64_t>{3, 2, 3, 1}));
}

// Every combination computes the same as before.
TEST(SpaceToDepth, ComputesTheSame) {
  int folded = 0;
  uint64_t seed = 0;
  for (const DType dtype : {DType::kF16, DType::kF32})
    for (const int64_t channels : {2, 3, 4})
      for (const int64_t width : {8, 9, 12})
        for (const int64_t kernel : {1, 2, 3, 4, 5, 7})
          for (const int64_t stride : {1, 2, 3, 4})
            for (const int64_t before : {0, 1, 2, 3})
              for (const int64_t after : {0, 1, 3}) {
                const Shape shape{dtype,
                                  {1, channels, 4, width},
                                  {2, kernel},
                                  {2, stride},
                                  {0, before, 0, after}};
                const std::optional<Graph> from = ConvolutionOf(shape, ++seed);
                if (!from) continue;
                Graph graph = *from;
                ASSERT_TRUE(PadChannels(graph).ok());
                graph.Compact();
                ASSERT_TRUE(graph.Verify().ok());
                const double difference = Difference(*from, graph, seed);
                ASSERT_LT(difference, 2e-3) << from->ToText() << "\nbecame\n" << graph.ToText();
                const Value& conv = ConvolutionIn(graph);
                folded += graph[conv.operands[0]].op == Op::kReshape;
              }
  EXPECT_GT(folded, 100);
}

}  // namespace
}  // namespace mlc::graph
