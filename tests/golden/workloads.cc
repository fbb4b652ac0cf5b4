#include "tests/golden/workloads.h"

#include <gtest/gtest.h>

namespace mlc::golden {

namespace {

std::string Type(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides = {}) {
  return graph::TensorType{DType::kF32, dims, strides}.ToText();
}

std::string Image(int64_t channels, int64_t size) {
  const std::vector<int64_t> dims = {1, channels, size, size};
  return Type(dims, graph::ChannelsLastStrides(dims));
}

graph::Workload Dense(int64_t rows, int64_t depth, int64_t columns) {
  const std::string y = Type({rows, columns});
  return Parsed("%0 = input() : " + Type({rows, depth}) +
                "\n%1 = weight() : " + Type({depth, columns}) + "\n%2 = matmul(%0, %1) : " + y +
                "\n%3 = weight() : " + Type({columns}) + "\n%4 = add(%2, %3) : " + y +
                "\nreturn %4\n");
}

// Of f16, large enough for warpgroups.
graph::Workload NarrowDense(int64_t rows, int64_t depth, int64_t columns) {
  const auto type = [](const std::vector<int64_t>& dims) {
    return graph::TensorType{DType::kF16, dims, {}}.ToText();
  };
  return Parsed("%0 = input() : " + type({rows, depth}) +
                "\n%1 = weight() : " + type({depth, columns}) +
                "\n%2 = matmul(%0, %1) : " + type({rows, columns}) + "\nreturn %2\n");
}

graph::Workload Softmax(int64_t rows, int64_t columns) {
  const std::string type = Type({rows, columns});
  return Parsed("%0 = input() : " + type + "\n%1 = softmax(%0) {axis=1} : " + type +
                "\nreturn %1\n");
}

graph::Workload LayerNorm(int64_t rows, int64_t columns) {
  const std::string type = Type({rows, columns}), vector = Type({columns});
  return Parsed(
      "%0 = input() : " + type + "\n%1 = weight() : " + vector + "\n%2 = weight() : " + vector +
      "\n%3 = layer_norm(%0, %1, %2) {axis=1, epsilon=1e-05} : " + type + "\nreturn %3\n");
}

graph::Workload Attention(int64_t heads, int64_t length, int64_t depth, DType dtype = DType::kF32) {
  const std::string type = graph::TensorType{dtype, {1, heads, length, depth}, {}}.ToText();
  return Parsed("%0 = input() : " + type + "\n%1 = input() : " + type + "\n%2 = input() : " + type +
                "\n%3 = attention(%0, %1, %2) {scale=0.125} : " + type + "\nreturn %3\n");
}

graph::Workload Pool(int64_t channels, int64_t size) {
  return Parsed("%0 = input() : " + Image(channels, size) +
                "\n%1 = pool(%0) {kernel=[3,3], kind=max, pads=[1,1,1,1], strides=[2,2]} : " +
                Image(channels, (size - 1) / 2 + 1) + "\nreturn %1\n");
}

graph::Workload Gelu(int64_t elements) {
  const std::string type = Type({elements});
  return Parsed("%0 = input() : " + type +
                "\n%1 = constant() {value=0.70710678118654757} : f32[]\n%2 = mul(%0, %1) : " +
                type + "\n%3 = erf(%2) : " + type +
                "\n%4 = constant() {value=1} : f32[]\n%5 = add(%3, %4) : " + type +
                "\n%6 = mul(%0, %5) : " + type + "\nreturn %6\n");
}

graph::Workload Transpose(int64_t rows, int64_t columns) {
  return Parsed("%0 = input() : " + Type({rows, columns}) +
                "\n%1 = transpose(%0) {perm=[1,0]} : " + Type({columns, rows}) + "\nreturn %1\n");
}

// A row times weights of 4 bits, with a scale for 32 of them.
graph::Workload FewBitsDense(const std::string& type) {
  return Parsed("%0 = input() : " + type + "[1,1024]\n%1 = weight() : u8[512,512]\n" +
                "%2 = weight() : " + type + "[512,32]\n" +
                "%3 = dequantize(%1, %2) {bits=4, block=32, depth=1024, zero=8} : " + type +
                "[1024,512]\n%4 = matmul(%0, %3) : " + type + "[1,512]\nreturn %4\n");
}

// As networks begin: an image with channels outermost.
graph::Workload NarrowImage() {
  return Parsed(
      "%0 = input() : f16[1,3,224,224]\n%1 = weight() : f16[64,3,7,7]\n"
      "%2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[3,3,3,3], strides=[2,2]} : "
      "f16[1,64,112,112]{802816,1,7168,64}\nreturn %2\n");
}

}  // namespace

target::Target Avx512() {
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  target.cpu().threads = 2;
  target.cpu().l1_bytes = 49152;
  target.cpu().l2_bytes = 2 << 20;
  return target;
}

target::Target Avx512Vnni() {
  target::Target target = Avx512();
  target.cpu().isa = target::Isa::kAvx512Vnni;
  return target;
}

target::Target Avx2() {
  target::Target target = Avx512();
  target.cpu().isa = target::Isa::kAvx2;
  return target;
}

target::Target Hopper() {
  return *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=66908 "
      "tensor_gflops=1070530 copy_gbps=4150");
}

graph::Workload Parsed(std::string_view body) {
  // The parser keeps the numbering, Create the canonical one.
  Result<graph::Graph> graph = graph::Graph::Parse("graph v1 {\n" + std::string(body) + "}\n");
  EXPECT_TRUE(graph.ok()) << graph.status().message() << "\n" << body;
  if (!graph.ok()) return graph::Workload();
  Result<graph::Workload> workload = graph::Workload::Create(*std::move(graph), 1e-4);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return workload.ok() ? *std::move(workload) : graph::Workload();
}

graph::Workload Convolution(int64_t channels, int64_t size, int64_t filters, int64_t kernel,
                            int64_t stride, int64_t group) {
  const int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  const auto twice = [](int64_t n) {
    return "[" + std::to_string(n) + "," + std::to_string(n) + "]";
  };
  const std::string p = std::to_string(pad), y = Image(filters, out);
  return Parsed("%0 = input() : " + Image(channels, size) +
                "\n%1 = weight() : " + Type({filters, channels / group, kernel, kernel}) +
                "\n%2 = conv(%0, %1) {dilations=[1,1], group=" + std::to_string(group) +
                ", pads=[" + p + "," + p + "," + p + "," + p + "], strides=" + twice(stride) +
                "} : " + y + "\n%3 = weight() : " + Type({filters, 1, 1}) +
                "\n%4 = add(%2, %3) : " + y + "\n%5 = constant() {value=0} : f32[]" +
                "\n%6 = max(%4, %5) : " + y + "\nreturn %6\n");
}

std::vector<NamedWorkload> AllKinds() {
  return {{"conv-1x1", Convolution(64, 56, 256, 1, 1)},
          {"conv-1x1-stride-2", Convolution(256, 56, 512, 1, 2)},
          {"conv-3x3", Convolution(128, 28, 128, 3, 1)},
          {"conv-3x3-stride-2", Convolution(64, 15, 40, 3, 2)},
          {"conv-7x7-image", Convolution(3, 224, 64, 7, 2)},
          {"conv-grouped", Convolution(64, 14, 64, 3, 1, 4)},
          {"conv-narrow-groups", Convolution(64, 14, 64, 3, 1, 16)},
          {"depthwise", Convolution(96, 28, 96, 3, 1, 96)},
          {"depthwise-stride-2", Convolution(20, 17, 20, 3, 2, 20)},
          {"dense", Dense(128, 768, 3072)},
          {"dense-one-row", Dense(1, 2048, 1000)},
          {"dense-odd", Dense(13, 37, 41)},
          {"softmax", Softmax(1536, 128)},
          {"softmax-odd", Softmax(7, 100)},
          {"layer-norm", LayerNorm(128, 768)},
          {"attention", Attention(12, 128, 64)},
          {"attention-odd", Attention(2, 19, 24)},
          {"pool", Pool(64, 112)},
          {"gelu", Gelu(393216)},
          {"gelu-odd", Gelu(1001)},
          {"transpose", Transpose(300, 200)},
          {"dense-f16", NarrowDense(512, 768, 3072)},
          {"dense-4-bits", FewBitsDense("f32")},
          {"attention-f16", Attention(12, 1024, 64, DType::kF16)},
          {"dense-4-bits-f16", FewBitsDense("f16")},
          {"image-f16", NarrowImage()}};
}

schedule::LoweredKernel LoweredBy(std::string_view family, const graph::Workload& workload,
                                  const target::Target& target,
                                  const std::vector<std::pair<std::string, int64_t>>& knobs) {
  const schedule::Family* builder = schedule::FindFamily(family);
  EXPECT_NE(builder, nullptr) << family;
  if (builder == nullptr || !builder->Accepts(workload, target)) {
    ADD_FAILURE() << family << " does not accept " << workload.Summary();
    return {};
  }
  schedule::Config config = builder->Default(workload, target);
  for (const auto& [name, value] : knobs) {
    for (auto& knob : config.knobs) {
      if (knob.first == name) knob.second = value;
    }
  }
  Result<schedule::LoweredKernel> lowered = schedule::LowerConfig(workload, target, config);
  EXPECT_TRUE(lowered.ok()) << lowered.status().message();
  return lowered.ok() ? *std::move(lowered) : schedule::LoweredKernel();
}

}  // namespace mlc::golden
