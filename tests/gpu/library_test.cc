// Libraries for the GPU at hand: compiled, opened and run on it, from host buffers and from its own
// memory, against the reference evaluator. Skips where there is no device or compiler.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "client/target/target_choice.h"
#include "compiler/front/front.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/package/library.h"
#include "compiler/runtime/cuda_driver.h"
#include "compiler/runtime/model.h"
#include "compiler/schedule/space/family.h"
#include "tests/e2e/library/small_models.h"
#include "tests/gpu/on_device.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;
using graph::Precision;

constexpr double kPlace = 2;  // of what a cache gets

struct Case {
  const char* name;
  graph::Graph (*model)();
  Precision precision;
  double error;                  // over the largest magnitude
  bool clusters = false;         // where a contraction has them
  const char* family = nullptr;  // that tasks take where they can
};

class GpuLibrary : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    // Asked once: a child of a process that holds a device cannot ask the driver.
    static const Result<target::Target> target = client::ChooseTarget("cuda", 1);
    if (!target.ok()) GTEST_SKIP() << "no CUDA device: " << target.status().message();
    target_ = *target;
    root_ = ::testing::TempDir() + "mlc_gpu_library_" + std::to_string(getpid());
    const Result<std::string> path = Compile();
    if (path.status().code() == StatusCode::kNotFound) GTEST_SKIP() << path.status().message();
    ASSERT_TRUE(path.ok()) << path.status().message();
    EXPECT_EQ(GetParam().clusters && target_.gpu().compute >= 90, clusters_ > 0);
    EXPECT_EQ(GetParam().family != nullptr && target_.gpu().HasWarpgroupMma(), preferred_ > 0);
    Open(*path);
  }
  void TearDown() override {
    if (session_ != nullptr) api_->destroy_session(session_);
    if (model_ != nullptr) api_->close(model_);
    if (handle_ != nullptr) dlclose(handle_);
    fs::remove_all(root_);
  }

  Result<std::string> Compile() {
    front::FrontOptions front;
    front.precision = GetParam().precision;
    const graph::Program program =
        MLC_TRY(front::BuildProgram(GetParam().model(), front::ForTarget(front, target_)));
    std::vector<package::Choice> choices;
    for (const graph::Task& task : program.tasks) {
      const auto families = schedule::FamiliesFor(task.workload, target_);
      if (families.empty()) return Internal("no family for " + task.workload.Summary());
      choices.push_back(
          {families[0]->Default(task.workload, target_), package::FromDefault(), 0, {}});
      if (GetParam().clusters) Cluster(task.workload, choices.back().config);
      if (GetParam().family != nullptr) Prefer(task.workload, choices.back().config);
    }
    package::LibraryOptions options;
    options.directory = root_;
    options.name = "net";
    options.parallel = 8;
    return MLC_TRY(package::WriteLibrary(program, choices, target_, options)).shared_library;
  }

  // The first config of the workload in which the blocks that share k are a cluster.
  void Cluster(const graph::Workload& workload, schedule::Config& config) {
    const schedule::Family& family = *schedule::FindFamily("tensor_contraction");
    if (!family.Accepts(workload, target_)) return;
    const schedule::Space space = family.MakeSpace(workload, target_);
    for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
      schedule::Config other = space.At(rank);
      if (other["split"] >= 0) continue;
      if (family.Check(workload, target_, other) != schedule::RejectReason::kNone) continue;
      config = std::move(other);
      ++clusters_;
      return;
    }
  }

  void Prefer(const graph::Workload& workload, schedule::Config& config) {
    const schedule::Family& family = *schedule::FindFamily(GetParam().family);
    if (!family.Accepts(workload, target_)) return;
    config = family.Default(workload, target_);
    ++preferred_;
  }

  void Open(const std::string& path) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    api_ = static_cast<const mlc_model_api*>(dlsym(handle_, MLC_MODEL_ENTRY));
    char error[512] = "";
    const mlc_open_options options = {nullptr, 0, error, sizeof(error)};
    ASSERT_EQ(api_->open_with(api_, &options, &model_), MLC_OK) << error;
    ASSERT_EQ(api_->create_session(model_, nullptr, &session_), MLC_OK);
    const graph::Graph graph = GetParam().model();
    for (int32_t i = 0; i < api_->input_count(model_); ++i) {
      const graph::TensorType& type = graph[graph.Inputs()[static_cast<size_t>(i)]].type;
      inputs_.push_back(type.dtype == DType::kI64 ? graph::WriteDoubles(type.dtype, type.dims,
                                                                        std::vector<double>{kPlace})
                                                  : InputTensor(graph, i));
      input_pointers_.push_back(inputs_.back()->bytes.data());
    }
    const auto expected = graph::Evaluate(graph, inputs_);
    ASSERT_TRUE(expected.ok());
    for (const graph::TensorDataRef& tensor : *expected) {
      expected_.push_back(graph::ReadDoubles(*tensor));
      outputs_.emplace_back(expected_.back().size(), NAN);
    }
    for (std::vector<float>& output : outputs_) output_pointers_.push_back(output.data());
  }

  void ExpectRight() {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      double largest = 0, difference = 0;
      for (size_t i = 0; i < expected_[o].size(); ++i) {
        ASSERT_TRUE(std::isfinite(outputs_[o][i])) << "output " << o << " at " << i;
        largest = std::max(largest, std::abs(expected_[o][i]));
        difference = std::max(difference, std::abs(outputs_[o][i] - expected_[o][i]));
      }
      EXPECT_LE(difference, GetParam().error * largest) << "output " << o;
      std::fill(outputs_[o].begin(), outputs_[o].end(), NAN);
    }
  }

  target::Target target_;
  std::string root_;
  int clusters_ = 0;   // kernels that have them
  int preferred_ = 0;  // tasks that take the case's family
  void* handle_ = nullptr;
  const mlc_model_api* api_ = nullptr;
  mlc_model* model_ = nullptr;
  mlc_session* session_ = nullptr;
  std::vector<graph::TensorDataRef> inputs_;
  std::vector<const void*> input_pointers_;
  std::vector<std::vector<double>> expected_;
  std::vector<std::vector<float>> outputs_;
  std::vector<void*> output_pointers_;
};

TEST_P(GpuLibrary, RunsFromHostBuffers) {
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(api_->run(session_, input_pointers_.data(), output_pointers_.data()), MLC_OK)
        << api_->session_error(session_);
    ExpectRight();
  }
}

TEST_P(GpuLibrary, RunsInTheCallersMemory) {
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
  // Twice, in other places: the second run updates the graph of the first.
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<OnDevice>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const graph::TensorDataRef& input : inputs_) {
      memory.push_back(std::make_unique<OnDevice>(cuda, input->bytes.size()));
      memory.back()->Send(input->bytes.data());
      inputs.push_back(memory.back()->pointer());
    }
    for (const std::vector<float>& output : outputs_) {
      memory.push_back(std::make_unique<OnDevice>(cuda, output.size() * sizeof(float)));
      outputs.push_back(memory.back()->pointer());
    }
    for (int run = 0; run < 3; ++run) {
      ASSERT_EQ(api_->run_device(session_, stream, inputs.data(), outputs.data()), MLC_OK)
          << api_->session_error(session_);
    }
    ASSERT_EQ(cuda.stream_synchronize(stream), 0);
    for (size_t o = 0; o < outputs_.size(); ++o) {
      memory[inputs_.size() + o]->Fetch(outputs_[o].data());
    }
    ExpectRight();
    // A run from the host afterwards follows on another stream.
    ASSERT_EQ(api_->run(session_, input_pointers_.data(), output_pointers_.data()), MLC_OK);
    ExpectRight();
  }
  EXPECT_EQ(cuda.stream_destroy(stream), 0);
  EXPECT_EQ(cuda.primary_ctx_release(device), 0);
}

TEST_P(GpuLibrary, TimesRunsAndKernels) {
  std::vector<double> runs(200);
  ASSERT_EQ(
      api_->run_timed(session_, input_pointers_.data(), output_pointers_.data(), 200, runs.data()),
      MLC_OK)
      << api_->session_error(session_);
  ExpectRight();
  for (const double time : runs) EXPECT_GT(time, 0);
  std::vector<double> steps(static_cast<size_t>(api_->step_count(model_)));
  ASSERT_EQ(
      api_->run_profiled(session_, input_pointers_.data(), output_pointers_.data(), steps.data()),
      MLC_OK)
      << api_->session_error(session_);
  ExpectRight();
  for (const double time : steps) EXPECT_GT(time, 0);
}

class GpuCaches : public GpuLibrary {};

TEST_P(GpuCaches, StayInTheSession) {
  ASSERT_EQ(api_->in_place_input(model_, 0), 0);
  ASSERT_EQ(api_->write_cache(session_, 0, input_pointers_[0]), MLC_OK);
  input_pointers_[0] = nullptr;
  output_pointers_[0] = nullptr;
  // The same rows are written over themselves.
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(api_->run(session_, input_pointers_.data(), output_pointers_.data()), MLC_OK)
        << api_->session_error(session_);
    ASSERT_EQ(api_->read_cache(session_, 0, outputs_[0].data()), MLC_OK);
    ExpectRight();
  }
  output_pointers_[1] = nullptr;
  EXPECT_EQ(api_->run(session_, input_pointers_.data(), output_pointers_.data()),
            MLC_INVALID_ARGUMENT);
}

graph::Graph SixRows() { return Cache(6); }

const Case kCaches[] = {{"cache_fp32", SixRows, Precision::kFp32, 1e-6}};
INSTANTIATE_TEST_SUITE_P(Models, GpuCaches, ::testing::ValuesIn(kCaches),
                         [](const auto& info) { return info.param.name; });

// Its kernels take tensor maps, in tf32 of the model's own input.
constexpr char kRoles[] = "role_contraction";

const Case kCases[] = {{"perceptron_fp32", Perceptron, Precision::kFp32, 1e-5},
                       {"perceptron_tf32", Perceptron, Precision::kTf32, 5e-3},
                       {"perceptron_fp16", Perceptron, Precision::kFp16, 2e-2},
                       {"perceptron_bf16", Perceptron, Precision::kBf16, 5e-2},
                       {"convolutional_fp32", Convolutional, Precision::kFp32, 1e-5},
                       {"convolutional_tf32", Convolutional, Precision::kTf32, 5e-3},
                       {"convolutional_fp16", Convolutional, Precision::kFp16, 2e-2},
                       {"convolutional_bf16", Convolutional, Precision::kBf16, 5e-2},
                       {"cache_fp32", SixRows, Precision::kFp32, 1e-6},
                       {"clusters_tf32", LongProducts, Precision::kTf32, 5e-3, true},
                       {"clusters_fp16", LongProducts, Precision::kFp16, 2e-2, true},
                       {"maps_tf32", WideProducts, Precision::kTf32, 5e-3, false, kRoles},
                       {"maps_fp16", WideProducts, Precision::kFp16, 2e-2, false, kRoles}};
INSTANTIATE_TEST_SUITE_P(Models, GpuLibrary, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mlc::testing
