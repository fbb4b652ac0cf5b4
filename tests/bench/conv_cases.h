// The convolutions and dense layers that the kernel benchmarks run: shapes of ResNet-50 at batch 1
// and of BERT-base at 128 tokens, with how often each occurs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/workload.h"

namespace mlc::bench {

struct ConvCase {
  int64_t channels, size, filters, kernel, stride;
  int count;
  int64_t groups = 1;
};

// MobileNetV2's depthwise convolutions.
inline const std::vector<ConvCase>& MobileNetDepthwise() {
  static const std::vector<ConvCase> cases = {
      {32, 112, 32, 3, 1, 1, 32},   {96, 112, 96, 3, 2, 1, 96},   {144, 56, 144, 3, 1, 1, 144},
      {144, 56, 144, 3, 2, 1, 144}, {192, 28, 192, 3, 1, 2, 192}, {192, 28, 192, 3, 2, 1, 192},
      {384, 14, 384, 3, 1, 4, 384}, {576, 14, 576, 3, 1, 2, 576}, {576, 14, 576, 3, 2, 1, 576},
      {960, 7, 960, 3, 1, 3, 960}};
  return cases;
}

// ResNeXt-50's convolutions of 32 groups, and two of RegNetY-400MF with 8 channels a group.
inline const std::vector<ConvCase>& Grouped() {
  static const std::vector<ConvCase> cases = {
      {128, 56, 128, 3, 1, 3, 32},  {256, 56, 256, 3, 2, 1, 32}, {256, 28, 256, 3, 1, 3, 32},
      {512, 28, 512, 3, 2, 1, 32},  {512, 14, 512, 3, 1, 5, 32}, {1024, 14, 1024, 3, 2, 1, 32},
      {1024, 7, 1024, 3, 1, 2, 32}, {104, 28, 104, 3, 1, 2, 13}, {208, 14, 208, 3, 1, 5, 26}};
  return cases;
}

inline const std::vector<ConvCase>& ResNet50Convolutions() {
  static const std::vector<ConvCase> cases = {
      {3, 224, 64, 7, 2, 1},    {64, 56, 64, 1, 1, 1},    {64, 56, 64, 3, 1, 3},
      {64, 56, 256, 1, 1, 4},   {256, 56, 64, 1, 1, 2},   {256, 56, 128, 1, 1, 1},
      {128, 56, 128, 3, 2, 1},  {128, 28, 512, 1, 1, 4},  {256, 56, 512, 1, 2, 1},
      {512, 28, 128, 1, 1, 3},  {128, 28, 128, 3, 1, 3},  {512, 28, 256, 1, 1, 1},
      {256, 28, 256, 3, 2, 1},  {256, 14, 1024, 1, 1, 6}, {512, 28, 1024, 1, 2, 1},
      {1024, 14, 256, 1, 1, 5}, {256, 14, 256, 3, 1, 5},  {1024, 14, 512, 1, 1, 1},
      {512, 14, 512, 3, 2, 1},  {512, 7, 2048, 1, 1, 3},  {1024, 14, 2048, 1, 2, 1},
      {2048, 7, 512, 1, 1, 2},  {512, 7, 512, 3, 1, 2}};
  return cases;
}

inline std::string NameOf(const ConvCase& c) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  const std::string kind = c.groups == 1            ? ""
                           : c.groups == c.channels ? "dw-"
                                                    : "g" + n(c.groups) + "-";
  return kind + n(c.channels) + "x" + n(c.size) + "-" + n(c.filters) + "k" + n(c.kernel) + "s" +
         n(c.stride);
}

// Convolution, bias, relu; channels-last, but for the image, which is dense.
inline Result<graph::Workload> MakeConv(const ConvCase& c, double tolerance = 1e-4) {
  using graph::Op;
  using graph::TensorType;
  const int64_t pad = c.kernel / 2;
  const int64_t out = (c.size + 2 * pad - c.kernel) / c.stride + 1;
  const auto image = [](std::vector<int64_t> dims, bool dense) {
    TensorType type{DType::kF32, dims, {}};
    if (!dense) type.strides = graph::ChannelsLastStrides(dims);
    return type;
  };
  graph::Graph g;
  const auto x = g.Input(image({1, c.channels, c.size, c.size}, c.channels == 3));
  const auto weight = [&](std::vector<int64_t> dims) {
    graph::Value value;
    value.op = Op::kWeight;
    value.type = {DType::kF32, std::move(dims), {}};
    return g.Add(std::move(value));
  };
  const auto w = weight({c.filters, c.channels / c.groups, c.kernel, c.kernel});
  graph::Value conv;
  conv.op = Op::kConv;
  conv.operands = {x, w};
  conv.attrs = {{"strides", std::vector<int64_t>{c.stride, c.stride}},
                {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                {"dilations", std::vector<int64_t>{1, 1}},
                {"group", c.groups}};
  conv.type = image({1, c.filters, out, out}, false);
  const auto y = g.Add(std::move(conv));
  const auto bias = weight({c.filters, 1, 1});
  const auto sum = g.Pointwise(ScalarOp::kAdd, {y, bias});
  g[sum].type = g[y].type;
  const auto relu = g.Pointwise(ScalarOp::kMax, {sum, g.Splat(DType::kF32, 0)});
  g[relu].type = g[y].type;
  g.outputs() = {relu};
  return graph::Workload::Create(std::move(g), tolerance);
}

struct DenseCase {
  int64_t rows, depth, columns;
  int count;
};

inline const std::vector<DenseCase>& BertDense() {
  static const std::vector<DenseCase> cases = {
      {128, 768, 768, 48}, {128, 768, 3072, 12}, {128, 3072, 768, 12}, {1, 2048, 1000, 1}};
  return cases;
}

inline std::string NameOf(const DenseCase& c) {
  return "dense-" + std::to_string(c.rows) + "x" + std::to_string(c.depth) + "x" +
         std::to_string(c.columns);
}

// Matrix product with weights and a bias.
inline Result<graph::Workload> MakeDense(const DenseCase& c) {
  graph::Graph g;
  const auto x = g.Input({DType::kF32, {c.rows, c.depth}, {}});
  const auto weight = [&](std::vector<int64_t> dims) {
    graph::Value value;
    value.op = graph::Op::kWeight;
    value.type = {DType::kF32, std::move(dims), {}};
    return g.Add(std::move(value));
  };
  const auto w = weight({c.depth, c.columns});
  graph::Value product;
  product.op = graph::Op::kMatMul;
  product.operands = {x, w};
  product.type = {DType::kF32, {c.rows, c.columns}, {}};
  const auto y = g.Add(std::move(product));
  g.outputs() = {g.Pointwise(ScalarOp::kAdd, {y, weight({c.columns})})};
  return graph::Workload::Create(std::move(g), 1e-4);
}

}  // namespace mlc::bench
