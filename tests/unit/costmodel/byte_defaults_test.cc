// Untuned convolutions of bytes take the family that was the fastest on an H200
// (docs/data/gpu_int8.json).
#include <gtest/gtest.h>

#include <string>

#include "costmodel/default_config.h"

namespace mlc::costmodel {
namespace {

struct Layer {
  int in, out, size;
  bool has_residual;
};

// 1x1, of a batch of 32, channels last; codes of the sums and of a residual, if there is one.
graph::Workload WorkloadOf(const Layer& layer) {
  const auto type = [&](const std::string& dtype, int channels) {
    const int64_t row = int64_t{layer.size} * channels;
    return dtype + "[32," + std::to_string(channels) + "," + std::to_string(layer.size) + "," +
           std::to_string(layer.size) + "]{" + std::to_string(row * layer.size) + ",1," +
           std::to_string(row) + "," + std::to_string(channels) + "}";
  };
  const std::string f32 = type("f32", layer.out), u8 = type("u8", layer.out);
  std::string text = "workload v1 tolerance=1e-4 {\n  %0 = input() : " + type("u8", layer.in) +
                     "\n  %1 = weight() : i8[" + std::to_string(layer.out) + "," +
                     std::to_string(layer.in) +
                     ",1,1]\n  %2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[0,0,0,0], "
                     "strides=[1,1]} : " +
                     type("i32", layer.out) + "\n  %3 = constant() {value=0.5} : f32[]\n" +
                     "  %4 = constant() {value=255} : f32[]\n  %5 = cast(%2) : " + f32 +
                     "\n  %6 = fma(%5, %3, %4) : " + f32 + "\n";
  int last = 6;
  const auto add = [&](const std::string& what, const std::string& of) {
    text += "  %" + std::to_string(last + 1) + " = " + what + " : " + of + "\n";
    ++last;
  };
  const auto value = [&] { return "%" + std::to_string(last); };
  if (layer.has_residual) {
    add("input()", u8);
    add("cast(" + value() + ")", f32);
    add("fma(" + value() + ", %3, %6)", f32);
  }
  add("round(" + value() + ")", f32);
  add("min(" + value() + ", %4)", f32);
  add("cast(" + value() + ")", u8);
  text += "  return " + value() + "\n}\n";
  Result<graph::Workload> workload = graph::Workload::Parse(text);
  EXPECT_TRUE(workload.ok()) << workload.status().ToString() << text;
  return *std::move(workload);
}

std::string DefaultOf(const Layer& layer) {
  const target::Target h200 = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  return DefaultConfigs(WorkloadOf(layer), h200)[0].ToText();
}

TEST(ByteDefaults, ShallowProductsAndResidualsAreLeftToTensorContraction) {
  for (const Layer& layer : {Layer{64, 256, 56, true}, Layer{64, 256, 56, false},
                             Layer{128, 512, 28, true}, Layer{256, 1024, 14, true}}) {
    EXPECT_TRUE(DefaultOf(layer).starts_with("tensor_contraction/")) << DefaultOf(layer);
  }
}

TEST(ByteDefaults, GroupsThatTakeTurnsBeforeStorersAreLeftToSearches) {
  for (const Layer& layer : {Layer{512, 256, 28, false}, Layer{512, 1024, 14, false}}) {
    const std::string config = DefaultOf(layer);
    EXPECT_TRUE(config.starts_with("role_contraction/")) << config;
    EXPECT_EQ(config.find("alternate=1"), std::string::npos) << config;
  }
}

}  // namespace
}  // namespace mlc::costmodel
