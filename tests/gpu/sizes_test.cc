// Libraries that take ranges of sizes, on the GPU at hand: compiled once, and run at random sizes
// against the plain evaluation of the model at exactly these sizes. Skips where there is no device
// or compiler.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/rng.h"
#include "client/target/target_choice.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/package/library.h"
#include "compiler/runtime/cuda_driver.h"
#include "tests/gpu/on_device.h"
#include "tests/support/ranged/ranged_library.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::testing {
namespace {

using graph::Precision;

struct Case {
  RangedCase (*ranged)();
  Precision precision;
  double error;  // over the largest magnitude
};

class GpuSizes : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    // Asked once: a child of a process that holds a device cannot ask the driver.
    static const Result<target::Target> target = client::ChooseTarget("cuda", 1);
    if (!target.ok()) GTEST_SKIP() << "no CUDA device: " << target.status().message();
    model_ = folder_.Write("model.onnx", case_.model);
    const Result<std::string>& path = Library(*target);
    if (path.status().code() == StatusCode::kNotFound) GTEST_SKIP() << path.status().message();
    ASSERT_TRUE(path.ok()) << path.status().message();
    Result<std::unique_ptr<OpenedLibrary>> opened = OpenedLibrary::Open(*path);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    library_ = *std::move(opened);
  }

  // Compiled once for all tests.
  const Result<std::string>& Library(const target::Target& target) {
    static const graph::onnx::TempFolder folder;
    static std::map<std::string, Result<std::string>> compiled;
    const std::string name = case_.name + std::string(graph::ToText(GetParam().precision));
    const auto known = compiled.find(name);
    if (known != compiled.end()) return known->second;
    return compiled.emplace(name, Compile(target, folder.path(name))).first->second;
  }

  Result<std::string> Compile(const target::Target& target, const std::string& directory) {
    const package::MergedPrograms merged =
        MLC_TRY(MergeClasses(model_, case_.dims, target, GetParam().precision));
    package::LibraryOptions options;
    options.directory = directory;
    options.name = "net";
    options.parallel = 8;
    return MLC_TRY(package::WriteLibrary(merged, target, options)).shared_library;
  }

  // The sizes that the case names, then random ones.
  std::vector<front::Sizes> SizesToRun() {
    std::vector<front::Sizes> all = case_.sizes;
    constexpr int kRandom = 20;
    for (int i = 0; i < kRandom; ++i) {
      front::Sizes& sizes = all.emplace_back();
      for (const front::RangedDim& dim : case_.dims) {
        sizes.push_back(dim.sizes[rng_.Below(dim.sizes.size())]);
      }
    }
    return all;
  }
  Evaluated At(const front::Sizes& sizes) {
    Result<Evaluated> evaluated = EvaluateAt(model_, case_.dims, sizes, rng_.Next());
    EXPECT_TRUE(evaluated.ok()) << evaluated.status().message();
    return evaluated.ok() ? *std::move(evaluated) : Evaluated();
  }

  const graph::onnx::TempFolder folder_;
  const RangedCase case_ = GetParam().ranged();
  std::string model_;
  std::unique_ptr<OpenedLibrary> library_;
  Rng rng_{1};
};

TEST_P(GpuSizes, RunEverySizeFromHostBuffers) {
  for (const front::Sizes& sizes : SizesToRun()) {
    SCOPED_TRACE(front::TextOf(case_.dims, sizes));
    const Evaluated evaluated = At(sizes);
    const auto outputs = library_->Run(evaluated.inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ExpectNear(*outputs, evaluated.outputs, GetParam().error);
  }
}

TEST_P(GpuSizes, RunEverySizeInTheCallersMemory) {
  mlc_cuda cuda;
  char error[512] = "";
  ASSERT_EQ(mlc_cuda_open(&cuda, error, sizeof(error)), 0) << error;
  mlc_cu_device device = 0;
  mlc_cu_context context = nullptr;
  ASSERT_EQ(cuda.device_get(&device, 0), 0);
  ASSERT_EQ(cuda.primary_ctx_retain(&context, device), 0);
  ASSERT_EQ(cuda.ctx_set_current(context), 0);
  mlc_cu_stream stream = nullptr;
  ASSERT_EQ(cuda.stream_create(&stream, MLC_CUDA_STREAM_NON_BLOCKING), 0);
  const mlc_model_api& api = library_->api();
  for (const front::Sizes& sizes : SizesToRun()) {
    SCOPED_TRACE(front::TextOf(case_.dims, sizes));
    const Evaluated evaluated = At(sizes);
    ASSERT_EQ(api.sizes->set_sizes(library_->session(), sizes.data()), MLC_OK);
    std::vector<std::unique_ptr<OnDevice>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const graph::TensorDataRef& input : evaluated.inputs) {
      memory.push_back(std::make_unique<OnDevice>(cuda, input->bytes.size()));
      memory.back()->Send(input->bytes.data());
      inputs.push_back(memory.back()->pointer());
    }
    for (const graph::TensorDataRef& output : evaluated.outputs) {
      memory.push_back(std::make_unique<OnDevice>(cuda, output->bytes.size()));
      outputs.push_back(memory.back()->pointer());
    }
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(api.run_device(library_->session(), stream, inputs.data(), outputs.data()), MLC_OK)
          << library_->error();
    }
    ASSERT_EQ(cuda.stream_synchronize(stream), 0);
    std::vector<graph::TensorDataRef> results;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const graph::TensorData& like = *evaluated.outputs[o];
      std::vector<std::byte> bytes(like.bytes.size());
      memory[inputs.size() + o]->Fetch(bytes.data());
      results.push_back(graph::MakeTensorData(like.dtype, like.dims, std::move(bytes)));
    }
    ExpectNear(results, evaluated.outputs, GetParam().error);
  }
  EXPECT_EQ(cuda.stream_destroy(stream), 0);
  EXPECT_EQ(cuda.primary_ctx_release(device), 0);
}

TEST_P(GpuSizes, RefuseOtherSizes) {
  std::vector<int64_t> wrong;
  for (const front::RangedDim& dim : case_.dims) wrong.push_back(dim.sizes.back());
  wrong.front() += 1;
  EXPECT_EQ(library_->api().sizes->set_sizes(library_->session(), wrong.data()),
            MLC_UNSUPPORTED_SIZE);
  EXPECT_NE(library_->error().find("is not a size of this library, which has"), std::string::npos)
      << library_->error();
}

const Case kCases[] = {
    {RangedConvolutions, Precision::kFp32, 1e-5}, {RangedConvolutions, Precision::kFp16, 2e-2},
    {RangedTransformer, Precision::kFp32, 1e-5},  {RangedTransformer, Precision::kFp16, 2e-2},
    {RangedTransformer, Precision::kBf16, 5e-2},  {GrowingDecoder, Precision::kFp32, 1e-5},
    {GrowingDecoder, Precision::kFp16, 2e-2}};
INSTANTIATE_TEST_SUITE_P(Models, GpuSizes, ::testing::ValuesIn(kCases), [](const auto& info) {
  return info.param.ranged().name + "_" + std::string(graph::ToText(info.param.precision));
});

}  // namespace
}  // namespace mlc::testing
