// What is used without a search is worth running: the default of every family for GPUs compiles,
// spills no registers, and a worker takes it. Of a list of layers in every precision, for an old
// device and for Hopper, a part is built; MLC_TEST_CASES=2000 builds all. Skips, visibly, without
// NVRTC.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/machine/cpus.h"
#include "base/process/child_process.h"
#include "compiler/build/nvrtc.h"
#include "compiler/schedule/space/family.h"
#include "tests/workloads/case_range.h"
#include "worker/build/built_kernel.h"

namespace mlc::schedule {
namespace {

constexpr int kBuilt = 120;

const char* const kTargets[] = {
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560",
    "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040"};

struct Precision {
  const char* dtype;
  const char* tolerance;
  const char* attributes;  // of a product
};
const Precision kPrecisions[] = {{"f32", "1e-4", ""},
                                 {"f32", "1e-2", "precision=tf32"},
                                 {"f16", "1e-2", ""},
                                 {"bf16", "1e-1", ""}};

std::string Type(const Precision& p, const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return std::string(" : ") + p.dtype + "[" + text + "]";
}

std::string Image(const Precision& p, int64_t images, int64_t channels, int64_t size) {
  const auto n = [](int64_t v) { return std::to_string(v); };
  return Type(p, {images, channels, size, size}) + "{" + n(channels * size * size) + ",1," +
         n(channels * size) + "," + n(channels) + "}";
}

std::string Workload(const Precision& p, const std::string& body) {
  return std::string("workload v1 tolerance=") + p.tolerance + " {\n" + body + "}\n";
}

struct Matrices {
  int64_t batch, m, k, n;
  const char* columns;  // input or weight
};
constexpr Matrices kMatrices[] = {{1, 1, 4096, 4096, "weight"},   {1, 8, 3072, 768, "weight"},
                                  {1, 16, 4096, 4096, "weight"},  {1, 128, 768, 768, "weight"},
                                  {1, 128, 768, 3072, "weight"},  {1, 128, 3072, 768, "weight"},
                                  {1, 197, 768, 3072, "weight"},  {1, 512, 512, 512, "weight"},
                                  {1, 512, 512, 512, "input"},    {1, 2048, 2048, 2048, "weight"},
                                  {1, 2048, 2048, 2048, "input"}, {1, 4096, 4096, 4096, "weight"},
                                  {1, 4096, 768, 3072, "weight"}, {12, 128, 64, 128, "input"},
                                  {32, 256, 256, 256, "input"},   {1, 100, 100, 100, "weight"},
                                  {1, 128, 768, 30522, "weight"}, {1, 1000, 33, 77, "input"}};

// A product, a bias, and an activation.
std::string ProductOf(const Matrices& c, const Precision& p) {
  const auto type = [&](int64_t rows, int64_t columns) {
    return c.batch > 1 ? Type(p, {c.batch, rows, columns}) : Type(p, {rows, columns});
  };
  const std::string attributes =
      *p.attributes != 0 ? std::string(" {") + p.attributes + "}" : std::string();
  const std::string y = type(c.m, c.n);
  return Workload(p, "%0 = input()" + type(c.m, c.k) + "\n%1 = " + c.columns + "()" +
                         type(c.k, c.n) + "\n%2 = matmul(%0, %1)" + attributes + y +
                         "\n%3 = weight()" + Type(p, {c.n}) + "\n%4 = add(%2, %3)" + y +
                         "\n%5 = tanh(%4)" + y + "\nreturn %5\n");
}

struct Layer {
  int64_t channels, size, filters, kernel, stride;
};
// Of ResNet-50 and of MobileNetV2.
constexpr Layer kLayers[] = {
    {3, 224, 64, 7, 2},   {64, 56, 64, 1, 1},    {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},
    {256, 56, 128, 1, 1}, {128, 56, 128, 3, 2},  {256, 56, 512, 1, 2},  {512, 28, 128, 1, 1},
    {128, 28, 128, 3, 1}, {256, 14, 1024, 1, 1}, {1024, 14, 256, 1, 1}, {256, 14, 256, 3, 1},
    {512, 14, 512, 3, 2}, {512, 7, 2048, 1, 1},  {2048, 7, 512, 1, 1},  {512, 7, 512, 3, 1},
    {3, 224, 32, 3, 2},   {32, 112, 16, 1, 1},   {16, 112, 96, 1, 1},   {24, 56, 144, 1, 1},
    {144, 28, 32, 1, 1},  {96, 14, 576, 1, 1},   {160, 7, 960, 1, 1},   {320, 7, 1280, 1, 1}};
constexpr Layer kDepthwise[] = {
    {32, 112, 32, 3, 1}, {96, 112, 96, 3, 2}, {576, 14, 576, 3, 1}, {960, 7, 960, 3, 1}};

// A convolution, a bias, a residual and relu.
std::string ConvolutionOf(const Layer& c, int64_t images, int64_t group, const Precision& p) {
  const int64_t pad = c.kernel / 2;
  const int64_t out = (c.size + 2 * pad - c.kernel) / c.stride + 1;
  const auto twice = [](int64_t v) { return std::to_string(v) + "," + std::to_string(v); };
  const std::string y = Image(p, images, c.filters, out);
  std::string attributes = "dilations=[1,1],group=" + std::to_string(group) + ",pads=[" +
                           twice(pad) + "," + twice(pad) + "]";
  if (*p.attributes != 0) attributes += std::string(",") + p.attributes;
  attributes += ",strides=[" + twice(c.stride) + "]";
  const std::string x = c.channels == 3 ? Type(p, {images, c.channels, c.size, c.size})
                                        : Image(p, images, c.channels, c.size);
  return Workload(p, "%0 = input()" + x + "\n%1 = weight()" +
                         Type(p, {c.filters, c.channels / group, c.kernel, c.kernel}) +
                         "\n%2 = conv(%0, %1) {" + attributes + "}" + y + "\n%3 = weight()" +
                         Type(p, {c.filters, 1, 1}) + "\n%4 = add(%2, %3)" + y + "\n%5 = input()" +
                         y + "\n%6 = add(%4, %5)" + y + "\n%7 = max(%6, %6)" + y + "\nreturn %7\n");
}

// A convolution of codes, whose sums are scaled and become codes again.
std::string ByteConvolutionOf(const Layer& c, int64_t images) {
  const Precision u8{"u8", "1e-4", ""}, i8{"i8", "", ""}, i32{"i32", "", ""}, f32{"f32", "", ""};
  const int64_t pad = c.kernel / 2, channels = (c.channels + 3) / 4 * 4;
  const int64_t out = (c.size + 2 * pad - c.kernel) / c.stride + 1;
  const auto twice = [](int64_t v) { return std::to_string(v) + "," + std::to_string(v); };
  const std::string y = Image(f32, images, c.filters, out), scale = Type(f32, {c.filters, 1, 1});
  return Workload(
      u8, "%0 = input()" + Image(u8, images, channels, c.size) + "\n%1 = weight()" +
              Type(i8, {c.filters, channels, c.kernel, c.kernel}) +
              "\n%2 = conv(%0, %1) {dilations=[1,1],group=1,pads=[" + twice(pad) + "," +
              twice(pad) + "],strides=[" + twice(c.stride) + "]}" +
              Image(i32, images, c.filters, out) + "\n%3 = weight()" + scale + "\n%4 = weight()" +
              scale + "\n%5 = cast(%2)" + y + "\n%6 = fma(%5, %3, %4)" + y + "\n%7 = round(%6)" +
              y + "\n%8 = constant() {value=0} : f32[]\n%9 = max(%7, %8)" + y +
              "\n%10 = constant() {value=255} : f32[]\n%11 = min(%9, %10)" + y +
              "\n%12 = cast(%11)" + Image(u8, images, c.filters, out) + "\nreturn %12\n");
}

std::string AttentionOf(int64_t batch, int64_t heads, int64_t length, int64_t width,
                        const Precision& p) {
  const std::string type = Type(p, {batch, heads, length, width});
  return Workload(p, "%0 = input()" + type + "\n%1 = input()" + type + "\n%2 = input()" + type +
                         "\n%3 = attention(%0, %1, %2) {scale=0.125}" + type + "\nreturn %3\n");
}

std::string RowsOf(int64_t rows, int64_t width, bool norm, const Precision& p) {
  const std::string type = Type(p, {rows, width});
  std::string body = "%0 = input()" + type + "\n%1 = input()" + type + "\n%2 = add(%0, %1)" + type;
  if (!norm) return Workload(p, body + "\n%3 = softmax(%2) {axis=1}" + type + "\nreturn %3\n");
  body += "\n%3 = weight()" + Type(p, {width}) + "\n%4 = weight()" + Type(p, {width});
  body += "\n%5 = layer_norm(%2, %3, %4) {axis=1,epsilon=1e-05}" + type;
  return Workload(p, body + "\nreturn %5\n");
}

std::vector<std::string> Workloads() {
  std::vector<std::string> texts;
  for (int64_t images : {1, 32}) {
    for (const Layer& c : kLayers) texts.push_back(ByteConvolutionOf(c, images));
  }
  for (const Precision& p : kPrecisions) {
    for (const Matrices& c : kMatrices) texts.push_back(ProductOf(c, p));
    for (int64_t images : {1, 32}) {
      for (const Layer& c : kLayers) texts.push_back(ConvolutionOf(c, images, 1, p));
    }
    if (*p.attributes != 0) continue;
    for (int64_t images : {1, 32}) {
      for (const Layer& c : kDepthwise) texts.push_back(ConvolutionOf(c, images, c.channels, p));
    }
    for (int64_t width : {32, 64, 128}) {
      for (int64_t length : {128, 197, 1024}) texts.push_back(AttentionOf(1, 12, length, width, p));
    }
    for (int64_t width : {77, 768, 4096, 30522}) {
      for (bool norm : {false, true}) texts.push_back(RowsOf(128, width, norm, p));
    }
  }
  return texts;
}

struct Default {
  std::string workload;
  Config config;
  const char* target;
};

std::vector<Default> Defaults() {
  std::vector<Default> defaults;
  for (const std::string& text : Workloads()) {
    const auto workload = graph::Workload::Parse(text);
    EXPECT_TRUE(workload.ok()) << workload.status().ToString() << "\n" << text;
    if (!workload.ok()) continue;
    for (const char* line : kTargets) {
      const target::Target target = *target::Target::Parse(line);
      for (const Family* family : FamiliesFor(*workload, target)) {
        const Config config = family->Default(*workload, target);
        EXPECT_EQ(family->Check(*workload, target, config), RejectReason::kNone)
            << config.ToText() << " for " << line << "\n"
            << text;
        defaults.push_back({text, config, line});
      }
    }
  }
  return defaults;
}

TEST(CudaDefaults, AreTakenByWorkers) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  const std::vector<Default> defaults = Defaults();
  const worker::CudaToolchain tools{nvrtc->get(), target::DetectHost(1), false};
  const CaseRange range = CasesFromEnvironment(kBuilt);
  const int count = std::min(range.count, static_cast<int>(defaults.size()));
  const int cpus = target::UsableCpus();
  // Neighbours in the list are much alike: a stride takes some of everything.
  constexpr size_t kStride = 1009;
  ASSERT_NE(defaults.size() % kStride, 0u);
  const Status status = build::RunInChildren(count, cpus, [&](int i) -> Status {
    const uint64_t seed = range.seed + static_cast<uint64_t>(i);
    const Default& d = defaults[seed * kStride % defaults.size()];
    const auto built =
        worker::BuildKernel(d.workload, d.config.ToText(), *target::Target::Parse(d.target), tools);
    if (built.ok()) return Status();
    // Each, where the status below is of the first one only.
    std::fprintf(stderr, "seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                 d.config.ToText().c_str(), built.status().message().c_str());
    return Status(built.status().code(), built.status().message() + "\n" + OneCase(seed) +
                                             " cuda_defaults_test\n" + d.config.ToText() + " for " +
                                             d.target + "\n" + d.workload);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace mlc::schedule
