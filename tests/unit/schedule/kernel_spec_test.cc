#include "compiler/schedule/kernel_spec/kernel_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/rng.h"
#include "compiler/build/nvrtc.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"

namespace mlc::schedule {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;

// A specification as other tuners write it, with its source.
Json Add() {
  return Json::parse(R"({
    "General": {"FormatVersion": 1},
    "ConfigurationSpace": {
      "TuningParameters": [
        {"Name": "block_size_x", "Type": "int", "Values": "[16 * i for i in range(1, 9)]",
         "Default": 64},
        {"Name": "work", "Type": "int", "Values": "[1, 2, 4]"},
        {"Name": "layout", "Type": "string", "Values": "['near', 'far']"}
      ],
      "Conditions": [{"Parameters": ["block_size_x", "work"],
                      "Expression": "block_size_x * work <= 256"}]
    },
    "KernelSpecification": {
      "Language": "CUDA", "KernelName": "add", "KernelFile": "add.cu",
      "ProblemSize": [1000], "GridDivX": ["block_size_x", "work"],
      "GlobalSize": {"X": "1"}, "LocalSize": {"X": "block_size_x", "Y": "1", "Z": "1"},
      "Arguments": [
        {"Name": "n", "Type": "int32", "MemoryType": "Scalar", "FillValue": 1000},
        {"Name": "c", "Type": "float", "MemoryType": "Vector", "AccessType": "WriteOnly"},
        {"Name": "x", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly"},
        {"Name": "y", "Type": "float", "MemoryType": "Vector", "AccessType": "ReadOnly"}
      ],
      "Source": "extern \"C\" __global__ void __launch_bounds__(block_size_x) add(int n, float* c, const float* x, const float* y) {\n  for (int k = 0; k < work; ++k) {\n    int i = (blockIdx.x * work + k) * block_size_x + threadIdx.x;\n    if (i < n) c[i] = x[i] + y[i];\n  }\n}\n"
    }
  })");
}

Result<KernelSpec> Read(const Json& json) { return KernelSpec::Parse(json.dump()); }

TEST(KernelSpec, ReadsTheInputFormatOfTuners) {
  const Result<KernelSpec> spec = Read(Add());
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->parameters().size(), 3u);
  EXPECT_EQ(spec->parameters()[0].values.size(), 8u);
  EXPECT_EQ(spec->parameters()[0].default_value, 3u);
  const Result<SpecInstance> made =
      spec->Instantiate({int64_t{64}, int64_t{2}, std::string("near")});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->grid, target::Dim3(8));
  EXPECT_EQ(made->block, target::Dim3(64));
  EXPECT_THAT(made->source, HasSubstr("#define block_size_x 64\n#define work 2\n"));
  EXPECT_THAT(made->source, HasSubstr("add((int)1000, (float*)out0, (const float*)in0, "
                                      "(const float*)in1)"));
  EXPECT_TRUE(spec->Allows({int64_t{64}, int64_t{4}, std::string("near")}));
  EXPECT_FALSE(spec->Allows({int64_t{128}, int64_t{4}, std::string("near")}));
}

TEST(KernelSpec, ItsTextReadsBackAndIsOfTheSameFormat) {
  const Result<KernelSpec> spec = Read(Add());
  ASSERT_TRUE(spec.ok());
  const Result<KernelSpec> again = KernelSpec::Parse(spec->ToText());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->ToText(), spec->ToText());
  const Json json = Json::parse(spec->ToText());
  for (const Json& parameter : json["ConfigurationSpace"]["TuningParameters"]) {
    EXPECT_TRUE(parameter["Values"].is_string()) << parameter.dump();
    EXPECT_TRUE(parameter.contains("Type"));
  }
  EXPECT_EQ(json["ConfigurationSpace"]["Conditions"][0]["Parameters"],
            Json({"block_size_x", "work"}));
  for (const char* name : {"Language", "KernelName", "KernelFile", "GlobalSize", "LocalSize"}) {
    EXPECT_TRUE(json["KernelSpecification"].contains(name)) << name;
  }
}

TEST(KernelSpec, AnArgumentMayBeAnyOperandOfTheWorkload) {
  Json json = Add();
  Json& arguments = json["KernelSpecification"]["Arguments"];
  arguments[2]["Operand"] = 1;
  arguments[3]["Operand"] = 0;
  const Result<KernelSpec> spec = Read(json);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const Result<SpecInstance> made =
      spec->Instantiate({int64_t{64}, int64_t{2}, std::string("near")});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_THAT(made->source, HasSubstr("add((int)1000, (float*)out0, (const float*)in1, "
                                      "(const float*)in0)"));
  const Result<KernelSpec> again = KernelSpec::Parse(spec->ToText());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, *spec);
  // In the usual order it is the same specification as without the numbers.
  arguments[2]["Operand"] = 0;
  arguments[3]["Operand"] = 1;
  EXPECT_EQ(Read(json)->ToText(), Read(Add())->ToText());
  // The types of the workload are compared in its own order.
  arguments[2] = {{"Type", "int32"}, {"MemoryType", "Vector"}, {"Operand", 1}};
  arguments[3]["Operand"] = 0;
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[8]\n  %1 = input() : i32[8]\n"
      "  %2 = cast(%1) : f32[8]\n  %3 = add(%0, %2) : f32[8]\n  return %3\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_TRUE(CheckArguments(*Read(json), *workload).ok());
  EXPECT_THAT(CheckArguments(*Read(Add()), *workload).message(),
              HasSubstr("is of type float, input 1 of the workload is int32"));
}

TEST(KernelSpec, ErrorsNameTheMember) {
  using Change = std::function<void(Json&)>;
  const auto kernel = [](const char* member, Json value) -> Change {
    return [=](Json& json) { json["KernelSpecification"][member] = value; };
  };
  const auto parameter = [](const char* member, Json value) -> Change {
    return [=](Json& json) { json["ConfigurationSpace"]["TuningParameters"][0][member] = value; };
  };
  const auto argument = [](const char* member, Json value) -> Change {
    return [=](Json& json) { json["KernelSpecification"]["Arguments"][1][member] = value; };
  };
  const std::pair<Change, const char*> kCases[] = {
      {kernel("Language", "Vulkan"), "Language: 'Vulkan' is not supported"},
      {kernel("KernelName", "1x"), "KernelName"},
      {kernel("KernelName", "absent"), "the source has no function 'absent'"},
      {kernel("CompilerOptions", Json({"-fplugin=x.so"})), "CompilerOptions: '-fplugin=x.so'"},
      {kernel("ProblemSize", Json({0})), "ProblemSize"},
      {kernel("GridDivX", Json({"tile"})), "GlobalSize: column"},
      {kernel("Source", ""), "Source"},
      {parameter("Values", "[1, 1]"), "the value 1 appears twice"},
      {parameter("Values", "[]"), "1 to 1024 values"},
      {parameter("Values", "[1, os]"), "the name 'os' is not known"},
      {parameter("Values", Json({"a\"b"})), "without quotes"},
      {parameter("Default", 63), "the default 63 is none of the values"},
      {parameter("Name", "a b"), "letters, digits"},
      {parameter("Name", "work"), "used before"},
      {argument("Type", "float4"), "argument 1: Type: 'float4' is not supported"},
      {argument("AccessType", "ReadWrite"), "give it a second buffer"},
      {argument("AccessType", "ReadOnly"), "the kernel has no output"},
      {argument("Operand", 1), "Operand: the vectors that are ReadOnly are numbered from 0"},
      {argument("Operand", -1), "Operand"},
      {argument("Operand", "x"), "Operand: an integer is needed"},
      {argument("MemoryType", "Symbol"), "Vector in global memory and Scalar"},
  };
  for (const auto& [change, expected] : kCases) {
    Json json = Add();
    change(json);
    const Result<KernelSpec> spec = Read(json);
    ASSERT_FALSE(spec.ok()) << expected;
    EXPECT_THAT(spec.status().message(), HasSubstr(expected));
  }
  EXPECT_FALSE(KernelSpec::Parse("{").ok());
  EXPECT_FALSE(KernelSpec::Parse(std::string(100'000, '[')).ok());
}

// Whatever member is lost or replaced, the text is refused, or prints to a fixed point.
TEST(KernelSpec, AnyChangeIsRefusedOrReadsBack) {
  const std::string text = Add().dump();
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string changed = text;
    for (uint64_t i = 0; i <= rng.Below(3); ++i) {
      const size_t at = rng.Below(changed.size());
      if (rng.Below(2) == 0) {
        changed.erase(at, 1 + rng.Below(8));
      } else {
        changed[at] = static_cast<char>(' ' + rng.Below(95));
      }
    }
    const Result<KernelSpec> spec = KernelSpec::Parse(changed);
    if (!spec.ok()) continue;
    const Result<KernelSpec> again = KernelSpec::Parse(spec->ToText());
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << spec->ToText();
    EXPECT_EQ(again->ToText(), spec->ToText());
  }
}

TEST(TunedKernel, ItsConfigsReadBackAndBuild) {
  const Result<TunedKernel> kernel = TunedKernel::Open(*Read(Add()));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(kernel->radix(), (std::vector<uint16_t>{8, 3, 2}));
  const Config config = kernel->At({3, 1, 1});
  EXPECT_TRUE(config.ToText().starts_with(
      "user_kernel/2 block_size_x=64 work=2 layout=1 entry=add source="));
  const Result<Config> read = Config::Parse(config.ToText());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, config);
  EXPECT_EQ(kernel->PointOf(*read), (std::vector<uint16_t>{3, 1, 1}));
  const Result<UserKernel> made = UserKernel::FromConfig(*read);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->entry, "mlc_tuned_add");
  EXPECT_THAT(made->source, HasSubstr("#define layout far"));
  EXPECT_FALSE(UserKernel::FromConfig(kernel->At({7, 2, 0})).ok());
  Config other = config;
  other.knobs[0].second = 65;
  EXPECT_FALSE(UserKernel::FromConfig(other).ok());
}

TEST(TunedKernel, ADefaultThatIsForbiddenIsReplacedByOneThatIsNot) {
  Json json = Add();
  json["ConfigurationSpace"]["Conditions"][0]["Expression"] = "block_size_x * work == 512";
  const Result<TunedKernel> kernel = TunedKernel::Open(*Read(json));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ(kernel->default_point(), (std::vector<uint16_t>{7, 2, 0}));
  json["ConfigurationSpace"]["Conditions"][0]["Expression"] = "block_size_x == 1";
  EXPECT_THAT(TunedKernel::Open(*Read(json)).status().message(), HasSubstr("no values were found"));
}

std::string ReadFile(const std::string& name) {
  std::ifstream in(std::string(MLC_EXAMPLES) + "/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(TunedKernel, TheExampleInCudaBuilds) {
  auto nvrtc = build::Nvrtc::Open("");
  if (!nvrtc.ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  Json json = Json::parse(ReadFile("gemm_cuda.json"));
  json["KernelSpecification"]["Source"] = ReadFile("gemm.cu");
  const Result<TunedKernel> kernel = TunedKernel::Open(*Read(json));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  for (const std::vector<uint16_t>& point :
       {std::vector<uint16_t>{0, 0, 0}, {0, 3, 4}, {1, 2, 1}}) {
    const Result<UserKernel> made = kernel->Instantiate(kernel->At(point));
    ASSERT_TRUE(made.ok()) << made.status().message();
    const auto binary = (*nvrtc)->Compile(made->source, "sm_90a");
    ASSERT_TRUE(binary.ok()) << binary.status().message() << "\n" << made->source;
    EXPECT_TRUE(build::CheckEntry(*binary, made->entry).ok());
  }
}

TEST(TunedKernel, EveryCudaConfigBuilds) {
  auto nvrtc = build::Nvrtc::Open("");
  if (!nvrtc.ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  const Result<TunedKernel> kernel = TunedKernel::Open(*Read(Add()));
  ASSERT_TRUE(kernel.ok());
  for (const std::vector<uint16_t>& point :
       {std::vector<uint16_t>{0, 0, 0}, {3, 1, 1}, {7, 0, 0}}) {
    const Result<UserKernel> made = kernel->Instantiate(kernel->At(point));
    ASSERT_TRUE(made.ok());
    const auto binary = (*nvrtc)->Compile(made->source, "sm_90a");
    ASSERT_TRUE(binary.ok()) << binary.status().message() << "\n" << made->source;
    EXPECT_TRUE(build::CheckEntry(*binary, made->entry).ok());
  }
}

}  // namespace
}  // namespace mlc::schedule
