// Products of dequantised codes, from the model to integers or floats, for devices of both kinds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/front/front.h"
#include "compiler/graph/byte_product.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::front {
namespace {

using graph::onnx::ImportBytes;
namespace wire = graph::onnx::wire;
using wire::Node;

constexpr int32_t kU8 = 2, kI8 = 3;

// A 3x3 convolution, one filter for each channel, and a product, with codes between them.
graph::Graph Model() {
  const auto codes = [](const char* name, const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::string bytes(static_cast<size_t>(count), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>(static_cast<int>(i * 37 % 251) - 125);
    }
    return wire::Tensor(name, kI8, dims, bytes);
  };
  wire::GraphParts parts;
  parts.initializers = {codes("w", {8, 4, 3, 3}), codes("f", {8, 1, 3, 3}), codes("m", {8, 12}),
                        wire::FloatTensor("scale", {}, {0.05F}),
                        wire::Tensor("zero", kU8, {}, std::string(1, '\x21'))};
  const auto quantised = [&](const std::string& from) {
    parts.nodes.push_back(Node("QuantizeLinear", {from, "scale", "zero"}, {from + "_q"}));
    parts.nodes.push_back(Node("DequantizeLinear", {from + "_q", "scale", "zero"}, {from + "_d"}));
  };
  for (const std::string name : {"w", "f", "m"}) {
    parts.nodes.push_back(Node("DequantizeLinear", {name, "scale"}, {name + "_d"}));
  }
  quantised("x");
  parts.nodes.push_back(Node("Conv", {"x_d", "w_d"}, {"a"}, wire::IntsAttr("pads", {1, 1, 1, 1})));
  quantised("a");
  parts.nodes.push_back(Node("Conv", {"a_d", "f_d"}, {"b"}, wire::IntAttr("group", 8)));
  parts.nodes.push_back(Node("GlobalAveragePool", {"b"}, {"c"}));
  parts.nodes.push_back(Node("Flatten", {"c"}, {"d"}));
  quantised("d");
  parts.nodes.push_back(Node("MatMul", {"d_d", "m_d"}, {"y"}));
  parts.inputs = {wire::FloatValue("x", {2, 4, 9, 9})};
  parts.outputs = {wire::FloatValue("y", {2, 12})};
  Result<graph::Graph> graph = ImportBytes(wire::Model(parts, 21));
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  return graph.ok() ? *std::move(graph) : graph::Graph();
}

int CountProducts(const std::string& target, FrontOptions options) {
  const auto device = target::Target::Parse(target);
  EXPECT_TRUE(device.ok()) << device.status().ToString();
  const auto graph = SimplifyGraph(Model(), ForTarget(std::move(options), *device), nullptr);
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  if (!graph.ok()) return -1;
  int count = 0;
  for (graph::ValueId id = 0; id < graph->size(); ++id) {
    count += graph::IsProductOfBytes(*graph, (*graph)[id]) ? 1 : 0;
  }
  return count;
}

const char* const kAmpere = "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040";
const char* const kHopper = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

TEST(Bytes, AreMultipliedOnGpusButByFiltersOfOneChannel) {
  EXPECT_EQ(CountProducts(kAmpere, {}), 2);
  EXPECT_EQ(CountProducts(kHopper, {}), 2);
  EXPECT_EQ(CountProducts(target::Target{}.ToText(), {}), 2);
}

TEST(Bytes, BecomeFloatsInOtherPrecisionsAndWithoutThePass) {
  FrontOptions half;
  half.precision = graph::Precision::kFp16;
  EXPECT_EQ(CountProducts(kHopper, half), 0);
  FrontOptions without;
  without.skip = {"integer_products"};
  EXPECT_EQ(CountProducts(kHopper, without), 0);
}

}  // namespace
}  // namespace mlc::front
