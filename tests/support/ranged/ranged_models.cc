#include "tests/support/ranged/ranged_models.h"

#include <cstdint>
#include <functional>
#include <numeric>

#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::testing {

namespace {

using namespace graph::onnx::wire;  // NOLINT: the vocabulary of the models below

// Numbers in [-scale, scale].
std::string Values(const std::string& name, const std::vector<int64_t>& dims, float scale) {
  const int64_t count =
      std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>((i * 2654435761u >> 7) % 1001) / 500.0F - 1.0F) * scale;
  }
  return FloatTensor(name, dims, values);
}

front::RangedDim Range(const std::string& name, int64_t least, const front::Sizes& classes) {
  front::RangedDim dim{name, {}, classes};
  for (int64_t size = least; size <= classes.back(); ++size) dim.sizes.push_back(size);
  return dim;
}

// Adds heads = x w as [batch, heads, length, 8].
void AddHeads(GraphParts& parts, const std::string& x, const std::string& heads) {
  parts.initializers.push_back(Values(heads + "_w", {32, 32}, 0.3F));
  parts.nodes.push_back(Node("MatMul", {x, heads + "_w"}, {heads + "_rows"}));
  parts.nodes.push_back(Node("Reshape", {heads + "_rows", "by_head"}, {heads + "_split"}));
  parts.nodes.push_back(
      Node("Transpose", {heads + "_split"}, {heads}, IntsAttr("perm", {0, 2, 1, 3})));
}

// Adds y = softmax(q k^T) v w as [batch, length, 32].
void AddAttention(GraphParts& parts, const std::string& k, const std::string& v) {
  parts.initializers.push_back(IntTensor("by_head", {0, 0, 4, 8}));
  parts.initializers.push_back(IntTensor("joined", {0, 0, 32}));
  parts.initializers.push_back(FloatTensor("scale", {}, {0.35F}));
  parts.initializers.push_back(Values("out_w", {32, 32}, 0.3F));
  for (const std::string& node :
       {Node("Transpose", {k}, {"k_turned"}, IntsAttr("perm", {0, 1, 3, 2})),
        Node("MatMul", {"q", "k_turned"}, {"scores"}), Node("Mul", {"scores", "scale"}, {"scaled"}),
        Node("Softmax", {"scaled"}, {"p"}, IntAttr("axis", -1)),
        Node("MatMul", {"p", v}, {"mixed"}),
        Node("Transpose", {"mixed"}, {"turned"}, IntsAttr("perm", {0, 2, 1, 3})),
        Node("Reshape", {"turned", "joined"}, {"rows"}),
        Node("MatMul", {"rows", "out_w"}, {"attended"})}) {
    parts.nodes.push_back(node);
  }
}

}  // namespace

RangedCase RangedConvolutions() {
  GraphParts parts;
  const std::string pads = IntsAttr("pads", {1, 1, 1, 1});
  parts.nodes = {
      Node("Conv", {"x", "w0"}, {"a"}, pads + IntsAttr("kernel_shape", {3, 3})),
      Node("Relu", {"a"}, {"b"}),
      Node("MaxPool", {"b"}, {"c"}, IntsAttr("kernel_shape", {2, 2}) + IntsAttr("strides", {2, 2})),
      Node("Conv", {"c", "w1"}, {"d"}, pads + IntsAttr("kernel_shape", {3, 3})),
      Node("Relu", {"d"}, {"e"}),
      Node("GlobalAveragePool", {"e"}, {"f"}),
      Node("Flatten", {"f"}, {"g"}),
      Node("Gemm", {"g", "w2"}, {"y"})};
  parts.initializers = {Values("w0", {16, 3, 3, 3}, 0.4F), Values("w1", {32, 16, 3, 3}, 0.2F),
                        Values("w2", {32, 10}, 0.4F)};
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim(3) + Dim(12) + Dim(12))};
  parts.outputs = {FloatValue("y", {})};
  return {"convolutions",
          Model(parts, 17),
          {Range("batch", 1, {2, 4, 7})},
          {{4}, {1}, {2}, {7}, {3}, {5}, {7}, {6}, {1}}};
}

RangedCase RangedTransformer() {
  GraphParts parts;
  for (const char* heads : {"q", "k", "v"}) AddHeads(parts, "x", heads);
  AddAttention(parts, "k", "v");
  for (const std::string& node :
       {Node("Add", {"x", "attended"}, {"sum"}),
        Node("LayerNormalization", {"sum", "gain"}, {"normal"}, IntAttr("axis", -1)),
        Node("MatMul", {"normal", "up"}, {"wide"}), Node("Relu", {"wide"}, {"active"}),
        Node("MatMul", {"active", "down"}, {"tokens"}),
        Node("ReduceMean", {"tokens"}, {"mean"}, IntsAttr("axes", {1}) + IntAttr("keepdims", 0))}) {
    parts.nodes.push_back(node);
  }
  parts.initializers.push_back(Values("gain", {32}, 1));
  parts.initializers.push_back(Values("up", {32, 64}, 0.3F));
  parts.initializers.push_back(Values("down", {64, 32}, 0.3F));
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim("length") + Dim(32))};
  parts.outputs = {FloatValue("tokens", {}), FloatValue("mean", {})};
  return {"transformer",
          Model(parts, 17),
          {Range("batch", 1, {1, 3}), Range("length", 2, {8, 21})},
          {{1, 8}, {3, 21}, {1, 5}, {2, 20}, {2, 3}, {1, 13}, {3, 2}, {1, 21}, {3, 8}}};
}

RangedCase ManyClasses() {
  GraphParts parts;
  parts.nodes = {Node("Add", {"x", "bias"}, {"y"})};
  parts.initializers = {Values("bias", {4}, 1)};
  parts.inputs = {ValueInfo("x", 1, Dim("batch") + Dim(4))};
  parts.outputs = {FloatValue("y", {})};
  RangedCase many{"many", Model(parts, 17), {Range("batch", 1, {30})}, {}};
  many.dims[0].classes = many.dims[0].sizes;
  for (int64_t size = 1; size <= 30; ++size) many.sizes.push_back({size});
  return many;
}

RangedCase GrowingDecoder() {
  GraphParts parts;
  for (const char* heads : {"q", "new_k", "new_v"}) AddHeads(parts, "x", heads);
  parts.nodes.push_back(Node("Concat", {"past_k", "new_k"}, {"k"}, IntAttr("axis", 2)));
  parts.nodes.push_back(Node("Concat", {"past_v", "new_v"}, {"v"}, IntAttr("axis", 2)));
  AddAttention(parts, "k", "v");
  parts.inputs = {ValueInfo("x", 1, Dim(1) + Dim("sequence") + Dim(32)),
                  ValueInfo("past_k", 1, Dim(1) + Dim(4) + Dim("past") + Dim(8)),
                  ValueInfo("past_v", 1, Dim(1) + Dim(4) + Dim("past") + Dim(8))};
  parts.outputs = {FloatValue("attended", {}), FloatValue("k", {}), FloatValue("v", {})};
  return {"decoder",
          Model(parts, 17),
          {Range("past", 0, {12}), Range("sequence", 1, {1, 4})},
          {{0, 3}, {3, 1}, {4, 1}, {5, 4}, {12, 1}, {1, 2}, {0, 1}}};
}

}  // namespace mlc::testing
