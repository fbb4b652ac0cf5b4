// Libraries for GPUs that take ranges of sizes, on a machine without a GPU: a driver that runs on
// the host, kernels computed by the interpreter. Runs at random sizes give what the model does at
// exactly these sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "compiler/ir/interpret/interpret.h"
#include "compiler/package/library.h"
#include "compiler/runtime/device_state.h"
#include "compiler/schedule/space/family.h"
#include "tests/support/ranged/ranged_library.h"
#include "tests/unit/graph/onnx/imported.h"
#include "tests/unit/runtime/fake_cuda/fake_cuda.h"

namespace mlc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

// The kernels that the driver's launches stand for.
std::map<std::string, ir::Kernel>& Kernels() {
  static std::map<std::string, ir::Kernel> kernels;
  return kernels;
}

std::string KernelOf(const std::string& function) {
  return function.substr(0, function.rfind("_p"));
}

int CountArguments(const char* function) {
  const auto found = Kernels().find(KernelOf(function));
  return found == Kernels().end() ? 0 : found->second.NumParams() + 2;
}

// The last launch of a kernel computes all of it: the first one does not run where it would copy a
// buffer to itself.
void Compute(const char* function, const unsigned long long* arguments) {
  const auto found = Kernels().find(KernelOf(function));
  ASSERT_NE(found, Kernels().end()) << function;
  const ir::Kernel& kernel = found->second;
  if (!std::string(function).ends_with("_p" + std::to_string(kernel.phases.size() - 1))) return;
  std::vector<std::span<std::byte>> params;
  for (int i = 0; i < kernel.NumParams(); ++i) {
    const ir::Buffer& buffer = kernel.buffers[static_cast<size_t>(i)];
    params.emplace_back(reinterpret_cast<std::byte*>(arguments[i]),
                        static_cast<size_t>(buffer.size * SizeOf(buffer.dtype)));
  }
  const Status status = ir::Interpret(kernel, params);
  ASSERT_TRUE(status.ok()) << function << ": " << status.message();
}

struct Written {
  package::LibraryReport report;
  std::map<std::string, ir::Kernel> kernels;  // by symbol
};

Result<Written> WriteLibrary(const RangedCase& ranged, const graph::onnx::TempFolder& folder) {
  const target::Target target = *target::Target::Parse(kTarget);
  const package::MergedPrograms merged =
      MLC_TRY(MergeClasses(folder.Write(ranged.name + ".onnx", ranged.model), ranged.dims, target,
                           graph::Precision::kFp32));
  Written written;
  for (size_t i = 0; i < merged.choices.size(); ++i) {
    written.kernels["mlc_net_k" + std::to_string(i)] =
        MLC_TRY(schedule::LowerConfig(merged.program.tasks[i].workload, target,
                                      merged.choices[i].config))
            .kernel;
  }
  package::LibraryOptions options;
  options.directory = folder.path(ranged.name);
  options.name = "net";
  options.parallel = 2;
  written.report = MLC_TRY(package::WriteLibrary(merged, target, options));
  return written;
}

// Written once for all tests.
const Result<Written>& Library(const RangedCase& ranged) {
  static const graph::onnx::TempFolder folder;
  static std::map<std::string, Result<Written>> written;
  const auto known = written.find(ranged.name);
  if (known != written.end()) return known->second;
  return written.emplace(ranged.name, WriteLibrary(ranged, folder)).first->second;
}

class DeviceSizes : public ::testing::TestWithParam<RangedCase (*)()> {
 protected:
  void SetUp() override {
    fake_cuda_reset();
    held_ = fake_cuda_held();
    fake_cuda_compute(CountArguments, Compute);
    model_ = folder_.Write("model.onnx", case_.model);
    const Result<Written>& written = Library(case_);
    if (written.status().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << written.status().message();
    }
    ASSERT_TRUE(written.ok()) << written.status().message();
    weights_bytes_ = written->report.weights_bytes;
    Kernels() = written->kernels;
    Result<std::unique_ptr<OpenedLibrary>> opened =
        OpenedLibrary::Open(written->report.shared_library);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    library_ = *std::move(opened);
  }
  void TearDown() override {
    library_.reset();
    fake_cuda_compute(nullptr, nullptr);
    Kernels().clear();
    EXPECT_EQ(fake_cuda_held(), held_) << "everything is given back";
  }
  Evaluated At(const front::Sizes& sizes) {
    Result<Evaluated> evaluated = EvaluateAt(model_, case_.dims, sizes, ++seed_);
    EXPECT_TRUE(evaluated.ok()) << evaluated.status().message();
    return evaluated.ok() ? *std::move(evaluated) : Evaluated();
  }
  static int Count(const std::string& note) {
    const std::string notes = fake_cuda_notes();
    int count = 0;
    for (size_t at = notes.find(note); at != std::string::npos; at = notes.find(note, at + 1)) {
      ++count;
    }
    return count;
  }

  const graph::onnx::TempFolder folder_;
  const RangedCase case_ = GetParam()();
  std::string model_;
  std::unique_ptr<OpenedLibrary> library_;
  int64_t weights_bytes_ = 0;
  uint64_t seed_ = 0;
  long held_ = 0;
};

TEST_P(DeviceSizes, RunsEverySizeFromHostBuffers) {
  for (const front::Sizes& sizes : case_.sizes) {
    SCOPED_TRACE(front::TextOf(case_.dims, sizes));
    const Evaluated evaluated = At(sizes);
    const auto outputs = library_->Run(evaluated.inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ExpectNear(*outputs, evaluated.outputs, 1e-5);
  }
  EXPECT_EQ(Count("htod " + std::to_string(weights_bytes_) + "\n"), 1) << "weights lie there once";
}

// The stand-in's memory is the host's, at any address that is a multiple of 16.
TEST_P(DeviceSizes, RunsEverySizeInTheCallersMemory) {
  const mlc_model_api& api = library_->api();
  for (const front::Sizes& sizes : case_.sizes) {
    SCOPED_TRACE(front::TextOf(case_.dims, sizes));
    const Evaluated evaluated = At(sizes);
    ASSERT_EQ(api.sizes->set_sizes(library_->session(), sizes.data()), MLC_OK);
    std::vector<std::vector<std::max_align_t>> memory;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const graph::TensorDataRef& input : evaluated.inputs) {
      memory.emplace_back(input->bytes.size() / sizeof(std::max_align_t) + 1);
      std::copy(input->bytes.begin(), input->bytes.end(),
                reinterpret_cast<std::byte*>(memory.back().data()));
      inputs.push_back(memory.back().data());
    }
    for (const graph::TensorDataRef& output : evaluated.outputs) {
      memory.emplace_back(output->bytes.size() / sizeof(std::max_align_t) + 1);
      outputs.push_back(memory.back().data());
    }
    // The third run has a graph.
    for (int run = 0; run < 3; ++run) {
      for (void* output : outputs) *static_cast<float*>(output) = NAN;
      ASSERT_EQ(api.run_device(library_->session(), nullptr, inputs.data(), outputs.data()), MLC_OK)
          << library_->error();
      std::vector<graph::TensorDataRef> results;
      for (size_t o = 0; o < outputs.size(); ++o) {
        const graph::TensorData& like = *evaluated.outputs[o];
        const auto* begin = static_cast<const std::byte*>(outputs[o]);
        results.push_back(graph::MakeTensorData(
            like.dtype, like.dims, std::vector<std::byte>(begin, begin + like.bytes.size())));
      }
      ExpectNear(results, evaluated.outputs, 1e-5);
    }
  }
}

TEST_P(DeviceSizes, HasAGraphForEachClassAlone) {
  fake_cuda_reset();
  for (int round = 0; round < 3; ++round) {
    for (const front::Sizes& sizes : case_.sizes) {
      ASSERT_TRUE(library_->Run(At(sizes).inputs).ok());
    }
  }
  const int classes = library_->api().sizes->size_count;
  EXPECT_LE(Count("instantiate "), classes - 1) << "the first one is made with the session";
  EXPECT_EQ(Count("graph_launch "), 3 * static_cast<int>(case_.sizes.size()));
}

class DeviceClasses : public DeviceSizes {};

TEST_P(DeviceClasses, KeepTheLatestGraphs) {
  const long before = fake_cuda_held();
  for (const front::Sizes& sizes : case_.sizes) {
    const Evaluated evaluated = At(sizes);
    const auto outputs = library_->Run(evaluated.inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    ExpectNear(*outputs, evaluated.outputs, 1e-6);
    EXPECT_LT(fake_cuda_held(), before + MLC_DEVICE_OWN_GRAPHS);
  }
  const auto made_by = [&](int64_t size) {
    fake_cuda_reset();
    EXPECT_TRUE(library_->Run(At({size}).inputs).ok());
    return Count("instantiate ");
  };
  EXPECT_EQ(made_by(30), 0);
  EXPECT_EQ(made_by(30 - MLC_DEVICE_OWN_GRAPHS + 1), 0) << "the oldest of the latest";
  EXPECT_EQ(made_by(1), 1) << "gone since";
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceClasses, ::testing::Values(ManyClasses),
                         [](const auto& info) { return info.param().name; });

class DeviceCaches : public DeviceSizes {};

// Steps of one token and of several, on caches that no caller sees.
TEST_P(DeviceCaches, StayInTheSession) {
  const mlc_model_api& api = library_->api();
  const auto bytes_of = [](const graph::TensorDataRef& tensor) { return tensor->bytes.data(); };
  ASSERT_EQ(api.in_place_input(library_->model(), 1), 1);
  ASSERT_EQ(api.in_place_input(library_->model(), 2), 2);
  // The evaluation of the next step takes what the one before gave.
  std::vector<graph::TensorDataRef> caches;
  int64_t past = 0;
  for (const int64_t sequence : {3, 1, 1, 4, 2}) {
    SCOPED_TRACE(past);
    const front::Sizes sizes = {past, sequence};
    Evaluated evaluated = At(sizes);
    if (past > 0) {
      const Result<Evaluated> step =
          EvaluateAt(model_, case_.dims, sizes, seed_, {evaluated.inputs[0], caches[0], caches[1]});
      ASSERT_TRUE(step.ok()) << step.status().message();
      evaluated = *step;
    }
    ASSERT_EQ(api.sizes->set_sizes(library_->session(), sizes.data()), MLC_OK);
    std::vector<float> attended(evaluated.outputs[0]->bytes.size() / sizeof(float));
    const void* const inputs[] = {bytes_of(evaluated.inputs[0]), nullptr, nullptr};
    void* const outputs[] = {attended.data(), nullptr, nullptr};
    ASSERT_EQ(api.run(library_->session(), inputs, outputs), MLC_OK) << library_->error();
    const auto* begin = reinterpret_cast<const std::byte*>(attended.data());
    ExpectNear({graph::MakeTensorData(DType::kF32, evaluated.outputs[0]->dims,
                                      {begin, begin + attended.size() * sizeof(float)})},
               {evaluated.outputs[0]}, 1e-5);
    caches = {evaluated.outputs[1], evaluated.outputs[2]};
    past += sequence;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceCaches, ::testing::Values(GrowingDecoder),
                         [](const auto& info) { return info.param().name; });

TEST_P(DeviceSizes, RefusesOtherSizes) {
  const mlc_sizes_api& sizes = *library_->api().sizes;
  std::vector<int64_t> wrong, right;
  for (const front::RangedDim& dim : case_.dims) {
    wrong.push_back(dim.sizes.back());
    right.push_back(dim.sizes.front());
  }
  wrong.back() += 1;
  ASSERT_EQ(sizes.set_sizes(library_->session(), right.data()), MLC_OK);
  const std::vector<int64_t> before(sizes.input(library_->session(), 0)->dims,
                                    sizes.input(library_->session(), 0)->dims + 2);
  EXPECT_EQ(sizes.set_sizes(library_->session(), wrong.data()), MLC_UNSUPPORTED_SIZE);
  EXPECT_THAT(library_->error(), HasSubstr("is not a size of this library, which has"));
  const std::vector<int64_t> after(sizes.input(library_->session(), 0)->dims,
                                   sizes.input(library_->session(), 0)->dims + 2);
  EXPECT_EQ(before, after) << "nothing has changed";
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceSizes,
                         ::testing::Values(RangedConvolutions, RangedTransformer, GrowingDecoder),
                         [](const auto& info) { return info.param().name; });

}  // namespace
}  // namespace mlc::testing
