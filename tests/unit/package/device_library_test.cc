// Libraries for GPUs on a machine without one: compiled by NVRTC, opened against a driver that runs
// on the host, their kernels computed by the interpreter. What the library says of arguments,
// weights, order and places is used as a GPU would.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "compiler/codegen/cuda/cuda.h"
#include "compiler/front/front.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/interpret/interpret.h"
#include "compiler/package/embedded.h"
#include "compiler/package/library.h"
#include "compiler/runtime/model.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"
#include "tests/e2e/library/small_models.h"
#include "tests/unit/package/elf_file.h"
#include "tests/unit/runtime/fake_cuda/fake_cuda.h"

namespace mlc::package {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

// The kernels that the driver's launches stand for.
std::map<std::string, ir::Kernel>& Kernels() {
  static std::map<std::string, ir::Kernel> kernels;
  return kernels;
}

std::string KernelOf(const std::string& function) {
  return function.substr(0, function.rfind("_p"));
}

// What their tensor maps are of.
std::map<std::string, std::vector<mlc_tensor_map>>& Maps() {
  static std::map<std::string, std::vector<mlc_tensor_map>> maps;
  return maps;
}

int CountArguments(const char* function) {
  const auto found = Kernels().find(KernelOf(function));
  if (found == Kernels().end()) return 0;
  return found->second.NumParams() + 2 + static_cast<int>(Maps()[found->first].size());
}

// The first launch of a kernel computes all of it: that of its second phase where the first one
// would copy a cache to itself.
void Compute(const char* function, const unsigned long long* arguments) {
  static std::string before;  // the kernel of the launch before this one
  const std::string name = KernelOf(function);
  const auto found = Kernels().find(name);
  ASSERT_NE(found, Kernels().end()) << function;
  const bool first = std::string(function).ends_with("_p0") || before != name;
  before = name;
  if (!first) return;
  const ir::Kernel& kernel = found->second;
  std::vector<std::span<std::byte>> params;
  for (int i = 0; i < kernel.NumParams(); ++i) {
    const ir::Buffer& buffer = kernel.buffers[static_cast<size_t>(i)];
    ASSERT_EQ(arguments[i] % 16, 0u) << function << " argument " << i;
    params.emplace_back(reinterpret_cast<std::byte*>(arguments[i]),
                        static_cast<size_t>(buffer.size * SizeOf(buffer.dtype)));
  }
  const unsigned long long* encoded = arguments + kernel.NumParams() + 2;
  for (const mlc_tensor_map& map : Maps()[found->first]) {
    EXPECT_EQ(*encoded++, arguments[map.argument] + static_cast<uint64_t>(map.byte_offset));
  }
  const Status status = ir::Interpret(kernel, params);
  ASSERT_TRUE(status.ok()) << function << ": " << status.message();
}

// Floats as the small models take them; of integers, ones (a mask) or small numbers (tokens).
std::vector<graph::TensorDataRef> InputsOf(const graph::Graph& graph) {
  std::vector<graph::TensorDataRef> inputs;
  for (const graph::ValueId id : graph.Inputs()) {
    const graph::TensorType& type = graph[id].type;
    if (IsFloat(type.dtype)) {
      inputs.push_back(testing::InputTensor(graph, static_cast<int>(inputs.size())));
      continue;
    }
    const bool mask = graph[id].name.find("mask") != std::string::npos;
    std::vector<int64_t> values(static_cast<size_t>(type.NumElements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = mask ? 1 : static_cast<int64_t>(i % 50);
    inputs.push_back(graph::WriteInts(type.dtype, type.dims, values));
  }
  return inputs;
}

class DeviceLibrary : public ::testing::TestWithParam<graph::Precision> {
 protected:
  void SetUp() override {
    target_ = *target::Target::Parse(kTarget);
    root_ = ::testing::TempDir() + "mlc_device_library_" + std::to_string(getpid());
    fs::remove_all(root_);
    fake_cuda_reset();
    fake_cuda_compute(CountArguments, Compute);
  }
  void TearDown() override {
    fake_cuda_compute(nullptr, nullptr);
    Kernels().clear();
    Maps().clear();
    fs::remove_all(root_);
  }

  // A library named "net" in the folder; NOT_FOUND without NVRTC.
  Result<LibraryReport> Write(const graph::Graph& graph, graph::Precision precision,
                              const std::string& folder, bool embed = true, int parallel = 2) {
    front::FrontOptions front;
    front.precision = precision;
    const graph::Program program =
        MLC_TRY(front::BuildProgram(graph, front::ForTarget(front, target_)));
    std::vector<Choice> choices;
    for (const graph::Task& task : program.tasks) {
      choices.push_back(MLC_TRY(ChoiceFor(task.workload, std::to_string(choices.size()))));
    }
    LibraryOptions options;
    options.directory = root_ + "/" + folder;
    options.name = "net";
    options.embed_weights = embed;
    options.parallel = parallel;
    return WriteLibrary(program, choices, target_, options);
  }

  // Its kernels are known to the driver by the names that they get in the library.
  Result<Choice> ChoiceFor(const graph::Workload& workload, const std::string& number) const {
    const auto families = schedule::FamiliesFor(workload, target_);
    if (families.empty()) return Internal("no family for " + workload.Summary());
    const schedule::Family* const wanted =
        warpgroups_.empty() ? nullptr : schedule::FindFamily(warpgroups_);
    const bool use = wanted != nullptr && wanted->Accepts(workload, target_);
    Choice choice{(use ? wanted : families[0])->Default(workload, target_), FromDefault(), 0, {}};
    const std::string name = "mlc_net_k" + number;
    Kernels()[name] = MLC_TRY(schedule::LowerConfig(workload, target_, choice.config)).kernel;
    Maps()[name] = MLC_TRY(codegen::PrintCuda(Kernels()[name], target_)).tensor_maps;
    if (!use || !substitutes_) return choice;
    const target::Target newer = target::NewerDevices(target_)[0];
    choice.substitute = schedule::FamiliesFor(workload, newer)[0]->Default(workload, newer);
    Kernels()["mlc_net_n" + number] =
        MLC_TRY(schedule::LowerConfig(workload, newer, *choice.substitute)).kernel;
    return choice;
  }

  // The outputs of the library at `path` for the inputs of the small models.
  std::vector<std::vector<float>> Run(const std::string& path, const graph::Graph& graph,
                                      const char* weights) {
    std::vector<std::vector<float>> outputs;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
    if (handle == nullptr) return outputs;
    const auto* api = static_cast<const mlc_model_api*>(dlsym(handle, MLC_MODEL_ENTRY));
    char error[512] = "";
    const mlc_open_options options = {weights, 0, error, sizeof(error)};
    mlc_model* model = nullptr;
    mlc_session* session = nullptr;
    EXPECT_EQ(api->open_with(api, &options, &model), MLC_OK) << error;
    if (model != nullptr && api->create_session(model, nullptr, &session) == MLC_OK) {
      outputs = RunSession(*api, model, session, graph);
      api->destroy_session(session);
    }
    api->close(model);
    dlclose(handle);
    return outputs;
  }

  static std::vector<std::vector<float>> RunSession(const mlc_model_api& api, mlc_model* model,
                                                    mlc_session* session,
                                                    const graph::Graph& graph) {
    const std::vector<graph::TensorDataRef> tensors = InputsOf(graph);
    std::vector<const void*> inputs;
    for (const graph::TensorDataRef& tensor : tensors) inputs.push_back(tensor->bytes.data());
    std::vector<std::vector<float>> outputs;
    std::vector<void*> places;
    for (int32_t i = 0; i < api.output_count(model); ++i) {
      outputs.emplace_back(static_cast<size_t>(api.output(model, i)->bytes) / sizeof(float), NAN);
    }
    for (std::vector<float>& output : outputs) places.push_back(output.data());
    EXPECT_EQ(api.run(session, inputs.data(), places.data()), MLC_OK) << api.session_error(session);
    return outputs;
  }

  static void ExpectNear(const std::vector<std::vector<float>>& outputs, const graph::Graph& graph,
                         double tolerance) {
    const auto expected = graph::Evaluate(graph, InputsOf(graph));
    ASSERT_TRUE(expected.ok());
    ASSERT_EQ(outputs.size(), expected->size());
    for (size_t o = 0; o < outputs.size(); ++o) {
      const std::vector<double> values = graph::ReadDoubles(*(*expected)[o]);
      double largest = 0;
      for (const double value : values) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(outputs[o][i], values[i], tolerance * largest) << "output " << o << " at " << i;
      }
    }
  }

  target::Target target_;
  std::string root_;
  std::string warpgroups_;    // the family that tasks take where they can, of Hopper's own
  bool substitutes_ = false;  // matrix instructions, which newer devices replace
};

#define SKIP_WITHOUT_NVRTC(report)                       \
  if (report.status().code() == StatusCode::kNotFound) { \
    GTEST_SKIP() << report.status().message();           \
  }                                                      \
  ASSERT_TRUE(report.ok()) << report.status().message()

TEST_P(DeviceLibrary, ComputesWhatTheModelDoes) {
  const double tolerance = graph::ToleranceOf(GetParam());
  for (const auto& [name, graph] : {std::pair("perceptron", testing::Perceptron()),
                                    std::pair("convolutional", testing::Convolutional())}) {
    SCOPED_TRACE(name);
    const Result<LibraryReport> report = Write(graph, GetParam(), name);
    SKIP_WITHOUT_NVRTC(report);
    EXPECT_TRUE(report->portable);
    EXPECT_GT(report->code_bytes, 0);
    ExpectNear(Run(report->shared_library, graph, nullptr), graph, tolerance);
    EXPECT_THAT(fake_cuda_notes(), HasSubstr("programmatic=1"));
    EXPECT_THAT(fake_cuda_notes(), HasSubstr("htod " + std::to_string(report->weights_bytes)));
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, DeviceLibrary,
                         ::testing::Values(graph::Precision::kFp32, graph::Precision::kTf32,
                                           graph::Precision::kFp16, graph::Precision::kBf16),
                         [](const auto& info) { return std::string(ToText(info.param)); });

using OneDeviceLibrary = DeviceLibrary;

TEST_F(OneDeviceLibrary, NeedsLibcAloneAndExportsItsTable) {
  const Result<LibraryReport> report = Write(testing::Perceptron(), graph::Precision::kFp16, "one");
  SKIP_WITHOUT_NVRTC(report);
  const ElfFile file = ReadElf(report->shared_library);
  EXPECT_THAT(file.exported, ::testing::ElementsAre("mlc_model_entry", "net_model"));
  EXPECT_THAT(file.needed, ::testing::ElementsAre("libc.so.6"));
  for (const std::string& symbol : file.imported) {
    EXPECT_EQ(symbol.find("mlc"), std::string::npos) << symbol;
    EXPECT_FALSE(symbol.starts_with("cu") || symbol.starts_with("ZSTD")) << symbol;
  }
}

// Programs may have a zstd of their own.
TEST_F(OneDeviceLibrary, ArchivesShareNoNamesWithOthers) {
  fs::create_directories(root_);
  const std::string path = root_ + "/runtime.o";
  std::ofstream(path, std::ios::binary) << EmbeddedDeviceRuntimeObject();
  const std::set<std::string> symbols = ReadElf(path).globals;
  EXPECT_TRUE(symbols.contains("mlc_device_open"));
  for (const std::string& symbol : symbols) EXPECT_TRUE(symbol.starts_with("mlc_")) << symbol;
}

TEST_F(OneDeviceLibrary, CodeIsCompressedAndDamageIsFound) {
  const graph::Graph graph = testing::Convolutional();
  const Result<LibraryReport> report = Write(graph, graph::Precision::kFp16, "damaged");
  SKIP_WITHOUT_NVRTC(report);
  EXPECT_LT(report->code_bytes, report->unpacked_code_bytes / 3);
  std::string bytes = ReadBytes(report->shared_library);
  // The frame of the binaries is the first one of zstd in the file.
  const std::string magic = "\x28\xb5\x2f\xfd";
  const size_t frame = bytes.find(magic);
  ASSERT_NE(frame, std::string::npos);
  bytes[frame + 300] = static_cast<char>(bytes[frame + 300] ^ 0x10);
  const std::string path = root_ + "/damaged/libother.so";
  std::ofstream(path, std::ios::binary) << bytes;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto* api = static_cast<const mlc_model_api*>(dlsym(handle, MLC_MODEL_ENTRY));
  char error[512] = "";
  const mlc_open_options options = {nullptr, 0, error, sizeof(error)};
  mlc_model* model = nullptr;
  EXPECT_EQ(api->open_with(api, &options, &model), MLC_BAD_WEIGHTS);
  EXPECT_THAT(error, HasSubstr("the GPU code in the library is damaged"));
  fake_cuda_device(100, 1, 13000);
  EXPECT_EQ(api->open_with(api, &options, &model), MLC_OK) << "texts are apart: " << error;
  api->close(model);
  dlclose(handle);
}

TEST_F(OneDeviceLibrary, IsTheSameEveryTime) {
  const auto bytes = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const Result<LibraryReport> once =
      Write(testing::Convolutional(), graph::Precision::kFp16, "once", true, 1);
  SKIP_WITHOUT_NVRTC(once);
  const Result<LibraryReport> again =
      Write(testing::Convolutional(), graph::Precision::kFp16, "again", true, 3);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(bytes(once->shared_library) == bytes(again->shared_library));
  EXPECT_TRUE(bytes(once->static_library) == bytes(again->static_library));
}

TEST_F(OneDeviceLibrary, OfOlderDevicesLaunchesNothingEarly) {
  target_ = *target::Target::Parse(
      "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040");
  const graph::Graph graph = testing::Perceptron();
  const Result<LibraryReport> report = Write(graph, graph::Precision::kFp16, "older");
  SKIP_WITHOUT_NVRTC(report);
  for (const int device : {80, 90}) {
    fake_cuda_reset();
    fake_cuda_compute(CountArguments, Compute);
    fake_cuda_device(device, 1, 13000);
    ExpectNear(Run(report->shared_library, graph, nullptr), graph,
               graph::ToleranceOf(graph::Precision::kFp16));
    EXPECT_THAT(fake_cuda_notes(), HasSubstr("programmatic=0")) << device;
    EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("programmatic=1"))) << device;
  }
}

TEST_F(OneDeviceLibrary, NewerDevicesRunSubstitutes) {
  const double tolerance = graph::ToleranceOf(graph::Precision::kFp16);
  const graph::Graph graph = testing::WideProducts();
  warpgroups_ = "warpgroup_contraction";
  substitutes_ = true;
  for (const bool embed : {true, false}) {
    const Result<LibraryReport> report =
        Write(graph, graph::Precision::kFp16, embed ? "embedded" : "apart", embed);
    SKIP_WITHOUT_NVRTC(report);
    EXPECT_TRUE(report->portable);
    EXPECT_GT(report->substitute_weights_bytes, 0) << "packed for other tiles";
    const std::string beside = root_ + "/apart/net.weights";
    const char* weights = embed ? nullptr : beside.c_str();
    const auto upload = [](int64_t bytes) { return "htod " + std::to_string(bytes) + "\n"; };
    fake_cuda_device(90, 1, 13000);
    ExpectNear(Run(report->shared_library, graph, weights), graph, tolerance);
    EXPECT_THAT(fake_cuda_notes(), HasSubstr("launch mlc_net_k1_p0"));
    EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("launch mlc_net_n")));
    EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("load text")));
    EXPECT_THAT(fake_cuda_notes(),
                HasSubstr(upload(report->weights_bytes - report->substitute_weights_bytes)));
    for (const int device : {100, 120}) {
      fake_cuda_reset();
      fake_cuda_compute(CountArguments, Compute);
      fake_cuda_device(device, 1, 13000);
      ExpectNear(Run(report->shared_library, graph, weights), graph, tolerance);
      EXPECT_THAT(fake_cuda_notes(), HasSubstr("launch mlc_net_n1_p0"));
      EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("launch mlc_net_k1_p0")));
      EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("load binary")));
      EXPECT_THAT(fake_cuda_notes(), HasSubstr(upload(report->weights_bytes)));
    }
    fake_cuda_reset();
    fake_cuda_compute(CountArguments, Compute);
  }
}

TEST_F(OneDeviceLibrary, WithoutSubstitutesRunsOnItsTargetAlone) {
  warpgroups_ = "warpgroup_contraction";
  const Result<LibraryReport> report =
      Write(testing::WideProducts(), graph::Precision::kFp16, "alone");
  SKIP_WITHOUT_NVRTC(report);
  EXPECT_FALSE(report->portable);
  EXPECT_EQ(report->substitute_weights_bytes, 0);
  fake_cuda_device(100, 1, 13000);
  void* handle = dlopen(report->shared_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto* api = static_cast<const mlc_model_api*>(dlsym(handle, MLC_MODEL_ENTRY));
  mlc_model* model = nullptr;
  EXPECT_EQ(api->open(api, nullptr, &model), MLC_UNSUPPORTED_MACHINE);
  dlclose(handle);
}

TEST_F(OneDeviceLibrary, KernelsThatCopyTensorsTakeMaps) {
  const graph::Graph graph = testing::WideProducts();
  warpgroups_ = "role_contraction";
  const Result<LibraryReport> report = Write(graph, graph::Precision::kFp16, "maps");
  SKIP_WITHOUT_NVRTC(report);
  ExpectNear(Run(report->shared_library, graph, nullptr), graph,
             graph::ToleranceOf(graph::Precision::kFp16));
  EXPECT_THAT(fake_cuda_notes(),
              HasSubstr("map type=6 swizzle=3 promotion=0 64 of 128 by 64 of 64 at 256*1\n"));
}

// A user-supplied kernel for one task: the library launches it as it says, whatever was launched
// before.
TEST_F(OneDeviceLibrary, TakesAUserKernel) {
  graph::Graph graph;
  graph::TensorType type;
  type.dims = {1000};
  const graph::ValueId input = graph.Input(type);
  graph.outputs() = {graph.Pointwise(ScalarOp::kNeg, {input})};
  const Result<graph::Program> program =
      front::BuildProgram(graph, front::ForTarget(front::FrontOptions{}, target_));
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->tasks.size(), 1u);
  const graph::Workload& workload = program->tasks[0].workload;
  Kernels()["user_kernel"] =
      schedule::LowerConfig(workload, target_,
                            schedule::FamiliesFor(workload, target_)[0]->Default(workload, target_))
          ->kernel;
  const schedule::UserKernel user_kernel{
      "user_kernel_p0",
      "extern \"C\" __global__ void user_kernel_p0(const float* in, float* out) {\n"
      "  const int i = ((blockIdx.y * 2 + blockIdx.x) * 8 + threadIdx.y) * 16 + threadIdx.x;\n"
      "  if (i < 1000) out[i] = -in[i];\n}\n",
      {2, 4},
      {16, 8},
      64};
  LibraryOptions options;
  options.directory = root_ + "/hand";
  options.name = "net";
  const std::vector<Choice> choices = {{*user_kernel.ToConfig(), FromRecord{"record"}, 0, {}}};
  const Result<LibraryReport> report = WriteLibrary(*program, choices, target_, options);
  SKIP_WITHOUT_NVRTC(report);
  EXPECT_FALSE(report->portable) << "it was tried on the target alone";
  ExpectNear(Run(report->shared_library, graph, nullptr), graph, 1e-6);
  EXPECT_THAT(fake_cuda_notes(),
              HasSubstr("launch user_kernel_p0 blocks=2,4,1 threads=16,8,1 bytes=64 "
                        "programmatic=0"));
  const schedule::UserKernel broken{"gone", "// gone\nnonsense", 1, 32, 0};
  const std::vector<Choice> bad = {{*broken.ToConfig(), FromRecord{"record"}, 0, {}}};
  const Status refused = WriteLibrary(*program, bad, target_, options).status();
  EXPECT_THAT(refused.message(), HasSubstr("task 0"));
}

TEST_F(OneDeviceLibrary, WeightsMayLieBesideIt) {
  const graph::Graph graph = testing::Perceptron();
  const Result<LibraryReport> report = Write(graph, graph::Precision::kFp32, "beside", false);
  SKIP_WITHOUT_NVRTC(report);
  ExpectNear(Run(report->shared_library, graph, (root_ + "/beside/net.weights").c_str()), graph,
             1e-4);
}

TEST_F(OneDeviceLibrary, SaysWhichGpuItNeeds) {
  const Result<LibraryReport> report =
      Write(testing::Perceptron(), graph::Precision::kFp16, "needs");
  SKIP_WITHOUT_NVRTC(report);
  fake_cuda_device(80, 1, 13000);
  void* handle = dlopen(report->shared_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  const auto* api = static_cast<const mlc_model_api*>(dlsym(handle, MLC_MODEL_ENTRY));
  char error[512] = "";
  const mlc_open_options options = {nullptr, 0, error, sizeof(error)};
  mlc_model* model = nullptr;
  EXPECT_EQ(api->open_with(api, &options, &model), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error, HasSubstr("compute capability 9.0 exactly, or 9.0 and newer"));
  EXPECT_EQ(api->open(api, nullptr, &model), MLC_UNSUPPORTED_MACHINE);
  dlclose(handle);
}

// The benchmark networks on reduced sizes, where they were made.
class Networks : public DeviceLibrary {
 protected:
  void Expect(const char* name, graph::Precision precision, double tolerance) {
    const std::string path = std::string(MLC_REDUCED_MODELS) + "/" + name + ".onnx";
    if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
    const Result<graph::Graph> graph = graph::onnx::ImportOnnx(path, {});
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const Result<LibraryReport> report = Write(*graph, precision, name);
    SKIP_WITHOUT_NVRTC(report);
    ExpectNear(Run(report->shared_library, *graph, nullptr), *graph, tolerance);
  }
};

TEST_F(Networks, ResNetInHalves) { Expect("resnet18", graph::Precision::kFp16, 2e-2); }
TEST_F(Networks, ResNetInFloats) { Expect("resnet18", graph::Precision::kFp32, 1e-5); }
TEST_F(Networks, MobileNetInHalves) { Expect("mobilenet_v2", graph::Precision::kFp16, 2e-2); }
TEST_F(Networks, BertInHalves) { Expect("bert_base", graph::Precision::kFp16, 2e-2); }
TEST_F(Networks, BertInFloats) { Expect("bert_base", graph::Precision::kFp32, 1e-5); }
TEST_F(Networks, GptInHalves) { Expect("gpt2", graph::Precision::kFp16, 2e-2); }
TEST_F(Networks, VitInHalves) { Expect("vit_b_16", graph::Precision::kFp16, 2e-2); }
TEST_F(Networks, StepOfADecoder) { Expect("llama_step", graph::Precision::kFp32, 1e-5); }
TEST_F(Networks, VitInTf32) { Expect("vit_b_16", graph::Precision::kTf32, 5e-3); }

}  // namespace
}  // namespace mlc::package
