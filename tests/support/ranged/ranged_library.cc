#include "tests/support/ranged/ranged_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/rng.h"
#include "compiler/front/ranged_model.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/runtime/model.h"
#include "compiler/schedule/space/family.h"

namespace mlc::testing {

namespace {

Result<std::vector<package::Choice>> DefaultsOf(const graph::Program& program,
                                                const target::Target& target) {
  std::vector<package::Choice> choices;
  for (const graph::Task& task : program.tasks) {
    const auto families = schedule::FamiliesFor(task.workload, target);
    if (families.empty()) return Internal("no family for " + task.workload.Summary());
    choices.push_back({families[0]->Default(task.workload, target), package::FromDefault(), 0, {}});
  }
  return choices;
}

package::PlanRanges RangesOf(const std::vector<front::RangedDim>& dims,
                             const graph::RangeForms& forms) {
  package::PlanRanges ranges;
  for (const front::RangedDim& dim : dims) {
    ranges.least.push_back(dim.sizes.front());
    ranges.most.push_back(dim.sizes.back());
    ranges.any_size.push_back(true);
  }
  ranges.forms = forms;
  return ranges;
}

graph::TensorDataRef TensorOf(const mlc_tensor& tensor) {
  const std::vector<int64_t> dims(tensor.dims, tensor.dims + tensor.rank);
  const auto dtype = static_cast<DType>(tensor.dtype);
  int64_t bytes = SizeOf(dtype);
  for (const int64_t length : dims) bytes *= length;
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return graph::MakeTensorData(dtype, dims, std::vector<std::byte>(data, data + bytes));
}

}  // namespace

Result<package::MergedPrograms> MergeClasses(const std::string& path,
                                             const std::vector<front::RangedDim>& dims,
                                             const target::Target& target,
                                             graph::Precision precision) {
  front::RangedModel ranged = MLC_TRY(front::ReadRangedModel(path, {}, dims));
  std::vector<std::string> names;
  for (const front::RangedDim& dim : dims) names.push_back(dim.name);
  package::PlanMerger merger(names, RangesOf(dims, ranged.forms));
  front::FrontOptions options;
  options.precision = precision;
  options = front::ForTarget(options, target);
  for (size_t i = ranged.classes.size(); i-- > 0;) {
    graph::Program program = MLC_TRY(front::CompileModel(ranged.models[i], options));
    const std::vector<package::Choice> choices = MLC_TRY(DefaultsOf(program, target));
    MLC_TRY(merger.Add(ranged.classes[i], std::move(program), choices));
  }
  return merger.Take();
}

Result<Evaluated> EvaluateAt(const std::string& path, const std::vector<front::RangedDim>& dims,
                             const front::Sizes& sizes, uint64_t seed,
                             std::vector<graph::TensorDataRef> inputs) {
  graph::onnx::ImportOptions import;
  for (size_t d = 0; d < dims.size(); ++d) import.dims[dims[d].name] = sizes[d];
  const graph::Graph graph = MLC_TRY(graph::onnx::ImportOnnx(path, import));
  Rng rng(seed);
  Evaluated evaluated{std::move(inputs), {}};
  for (const graph::ValueId id : graph.Inputs()) {
    if (evaluated.inputs.size() == graph.Inputs().size()) break;
    std::vector<double> values(static_cast<size_t>(graph[id].type.NumElements()));
    for (double& value : values) value = 2 * rng.Uniform() - 1;
    evaluated.inputs.push_back(
        graph::WriteDoubles(graph[id].type.dtype, graph[id].type.dims, values));
  }
  evaluated.outputs = MLC_TRY(graph::Evaluate(graph, evaluated.inputs));
  return evaluated;
}

Result<std::unique_ptr<OpenedLibrary>> OpenedLibrary::Open(const std::string& path) {
  std::unique_ptr<OpenedLibrary> opened(new OpenedLibrary);
  opened->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened->handle_ == nullptr) return Internal(dlerror());
  opened->api_ = static_cast<const mlc_model_api*>(dlsym(opened->handle_, MLC_MODEL_ENTRY));
  char error[512] = "";
  const mlc_open_options options = {nullptr, 0, error, sizeof(error)};
  if (opened->api_->open_with(opened->api_, &options, &opened->model_) != MLC_OK) {
    return Internal(error);
  }
  if (opened->api_->create_session(opened->model_, nullptr, &opened->session_) != MLC_OK) {
    return Internal("no session");
  }
  return opened;
}

OpenedLibrary::~OpenedLibrary() {
  if (session_ != nullptr) api_->destroy_session(session_);
  if (model_ != nullptr) api_->close(model_);
  if (handle_ != nullptr) dlclose(handle_);
}

Result<std::vector<graph::TensorDataRef>> OpenedLibrary::Run(
    const std::vector<graph::TensorDataRef>& inputs) {
  std::vector<mlc_tensor> tensors, results;
  for (const graph::TensorDataRef& input : inputs) {
    tensors.push_back({const_cast<std::byte*>(input->bytes.data()), input->dims.data(),
                       static_cast<int64_t>(input->bytes.size()),
                       static_cast<int32_t>(input->dims.size()),
                       static_cast<int32_t>(input->dtype)});
  }
  // An empty tensor has an address, too.
  std::byte none{};
  for (mlc_tensor& tensor : tensors) tensor.data = tensor.data == nullptr ? &none : tensor.data;
  constexpr size_t kMostBytes = 1 << 16;
  std::vector<std::vector<std::byte>> memory;
  for (int32_t i = 0; i < api_->output_count(model_); ++i) {
    memory.emplace_back(kMostBytes, std::byte{0xff});
    results.push_back({memory.back().data(), nullptr, kMostBytes, 0, 0});
  }
  const mlc_status status = api_->sizes->run_tensors(session_, tensors.data(), results.data());
  if (status != MLC_OK) return InvalidArgument(error());
  std::vector<graph::TensorDataRef> outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(TensorOf(results[i]));
    const auto behind = memory[i].begin() + static_cast<int64_t>(outputs.back()->bytes.size());
    EXPECT_TRUE(
        std::all_of(behind, memory[i].end(), [](std::byte b) { return b == std::byte{0xff}; }))
        << "output " << i << " is written beyond its shape";
  }
  return outputs;
}

void ExpectNear(const std::vector<graph::TensorDataRef>& outputs,
                const std::vector<graph::TensorDataRef>& expected, double tolerance) {
  ASSERT_EQ(outputs.size(), expected.size());
  for (size_t o = 0; o < outputs.size(); ++o) {
    ASSERT_EQ(outputs[o]->dims, expected[o]->dims) << "output " << o;
    const std::vector<double> values = graph::ReadDoubles(*outputs[o]);
    const std::vector<double> right = graph::ReadDoubles(*expected[o]);
    double largest = 0;
    for (const double value : right) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < right.size(); ++i) {
      ASSERT_NEAR(values[i], right[i], tolerance * largest) << "output " << o << " at " << i;
    }
  }
}

}  // namespace mlc::testing
