#include "client/model/model_library.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <system_error>

#include "base/rng.h"
#include "client/model/aligned_buffer.h"

namespace mlc::client {

namespace {

namespace fs = std::filesystem;

graph::TensorType TypeOf(const mlc_port& port) {
  return {
      static_cast<DType>(port.dtype), std::vector<int64_t>(port.dims, port.dims + port.rank), {}};
}

void FillRandom(const mlc_port& port, std::byte* bytes, Rng& rng) {
  const auto dtype = static_cast<DType>(port.dtype);
  const int64_t count = port.bytes / SizeOf(dtype);
  if (dtype == DType::kF32) {
    auto* values = reinterpret_cast<float*>(bytes);
    for (int64_t i = 0; i < count; ++i) {
      const double radius = std::sqrt(-2 * std::log(1 - rng.Uniform()));
      values[i] = static_cast<float>(radius * std::cos(2 * std::numbers::pi * rng.Uniform()));
    }
  } else if (dtype == DType::kI64) {
    auto* values = reinterpret_cast<int64_t*>(bytes);
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int64_t>(rng.Below(2));
  } else if (dtype == DType::kI32) {
    auto* values = reinterpret_cast<int32_t*>(bytes);
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(rng.Below(2));
  } else if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(rng.Below(2));
  }
}

// The loader maps what a library's headers say: of a file that was cut short, it touches pages that
// are not there.
Status CheckWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto bytes = static_cast<int64_t>(file.tellg());
  Elf64_Ehdr header = {};
  const auto read = [&](int64_t at, void* to, size_t size) {
    file.seekg(at).read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    return file.good();
  };
  if (!read(0, &header, sizeof(header))) return {};  // the loader has words for it
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  for (int64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part = {};
    const auto at = static_cast<int64_t>(header.e_phoff) + i * static_cast<int64_t>(sizeof(part));
    const auto end = static_cast<uint64_t>(bytes);
    const bool whole = read(at, &part, sizeof(part)) && part.p_filesz <= end &&
                       part.p_offset <= end - part.p_filesz;
    if (!whole) return InvalidArgument("'" + path + "' is cut short: compile the model again");
  }
  return {};
}

std::vector<std::string> DimNames(const mlc_model_api& api) {
  std::vector<std::string> names;
  const mlc_sizes_api* sizes = api.sizes;
  for (int32_t d = 0; sizes != nullptr && d < sizes->dim_count; ++d) {
    names.emplace_back(sizes->dims[d].name);
  }
  return names;
}

std::vector<graph::TensorType> InputTypes(const ModelLibrary& library) {
  std::vector<graph::TensorType> types;
  for (const mlc_port* port : library.inputs()) types.push_back(TypeOf(*port));
  return types;
}

// The sizes of inputs of a library that takes ranges: those of the axes that have the length of a
// dimension when it alone has its greatest size, and when all have. Leaves other sizes set.
Dims SizesFrom(ModelLibrary& library, const std::vector<graph::TensorDataRef>& tensors) {
  Dims least, most;
  for (const LibraryDim& dim : library.dims()) {
    least[dim.name] = dim.least;
    most[dim.name] = dim.most;
  }
  const auto types_at = [&](const Dims& sizes) {
    return library.SetSizes(sizes).ok() ? InputTypes(library) : std::vector<graph::TensorType>();
  };
  const std::vector<graph::TensorType> small = types_at(least), large = types_at(most);
  Dims sizes = least;
  for (const LibraryDim& dim : library.dims()) {
    Dims moved = least;
    moved[dim.name] = dim.most;
    const std::vector<graph::TensorType> longer = types_at(moved);
    if (small.empty() || large.empty() || longer.empty()) return least;
    for (size_t i = 0; i < std::min(small.size(), tensors.size()); ++i) {
      for (size_t a = 0; a < std::min(small[i].dims.size(), tensors[i]->dims.size()); ++a) {
        const bool its = small[i].dims[a] == dim.least && longer[i].dims[a] == dim.most &&
                         large[i].dims[a] == dim.most;
        if (its) sizes[dim.name] = tensors[i]->dims[a];
      }
    }
  }
  return sizes;
}

// `detail`, if not empty, explains the status.
Status Check(const mlc_model_api& api, mlc_status status, const std::string& what,
             const std::string& detail) {
  if (status == MLC_OK) return {};
  const std::string text = what + ": " + (detail.empty() ? api.status_text(status) : detail);
  switch (status) {
    case MLC_NOT_FOUND:
      return NotFound(text);
    case MLC_OUT_OF_MEMORY:
      return ResourceExhausted(text);
    case MLC_UNSUPPORTED_MACHINE:
      return FailedPrecondition(text);
    case MLC_BAD_WEIGHTS:
      return DataLoss(text);
    case MLC_DEVICE_FAILED:
      return Unavailable(text);
    default:
      return InvalidArgument(text);
  }
}

int32_t StepCount(const mlc_model_api& api, const mlc_model* model, const mlc_session* session) {
  return api.sizes == nullptr ? api.step_count(model) : api.sizes->step_count(session);
}

}  // namespace

struct ModelLibrary::Buffers {
  std::vector<AlignedBuffer> owned;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

Status ModelLibrary::CheckRun(mlc_status status) const {
  return Check(*api_, status, "run", session_ == nullptr ? "" : api_->session_error(session_));
}

Status ModelLibrary::Load(const std::string& path, const std::string& weights, int threads,
                          int device) {
  const auto started = std::chrono::steady_clock::now();
  MLC_TRY(CheckWhole(path));
  std::error_code error_code;
  handle_ = dlopen(fs::absolute(path, error_code).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) return InvalidArgument("cannot load '" + path + "': " + dlerror());
  api_ = static_cast<const mlc_model_api*>(dlsym(handle_, MLC_MODEL_ENTRY));
  if (api_ == nullptr) return InvalidArgument("'" + path + "' is not a compiled model");
  if (api_->abi_version != MLC_MODEL_ABI_VERSION || api_->struct_bytes < sizeof(mlc_model_api)) {
    return FailedPrecondition("'" + path + "' has interface version " +
                              std::to_string(api_->abi_version) + ", this program reads version " +
                              std::to_string(MLC_MODEL_ABI_VERSION) + ": compile the model again");
  }
  char error[1024] = "";
  const mlc_open_options open = {fs::exists(weights, error_code) ? weights.c_str() : nullptr,
                                 device, error, sizeof(error)};
  const mlc_status opened = api_->open_with(api_, &open, &model_);
  MLC_TRY(Check(*api_, opened, "cannot open '" + path + "'", error));
  mlc_session_options options = {};
  options.threads = threads;
  MLC_TRY(Check(*api_, api_->create_session(model_, &options, &session_), "cannot create a session",
                ""));
  const std::chrono::duration<double, std::milli> taken =
      std::chrono::steady_clock::now() - started;
  load_ms_ = taken.count();
  threads_ = threads;
  return {};
}

Result<std::unique_ptr<ModelLibrary>> ModelLibrary::Open(const std::string& directory, int threads,
                                                         int device) {
  std::error_code error;
  std::string path;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("lib") || !name.ends_with(".so")) continue;
    if (!path.empty()) return InvalidArgument("'" + directory + "' holds several libraries");
    path = entry.path().string();
  }
  if (path.empty()) {
    return NotFound("no compiled model in '" + directory + "': mlc-compile -o " + directory +
                    " makes one");
  }
  const std::string name = fs::path(path).stem().string().substr(3);
  std::unique_ptr<ModelLibrary> library(new ModelLibrary);
  MLC_TRY(
      library->Load(path, (fs::path(directory) / (name + ".weights")).string(), threads, device));
  if (const std::vector<Dims> rows = library->sizes(); !rows.empty()) {
    library->sizes_now_ = rows.front();
  }
  return library;
}

ModelLibrary::Buffers& ModelLibrary::buffers() const {
  if (buffers_ != nullptr) return *buffers_;
  buffers_ = std::make_unique<Buffers>();
  for (const mlc_port* port : inputs()) {
    buffers_->owned.push_back(AllocateAligned(port->bytes));
    buffers_->inputs.push_back(buffers_->owned.back().get());
  }
  for (const mlc_port* port : outputs()) {
    buffers_->owned.push_back(AllocateAligned(port->bytes));
    buffers_->outputs.push_back(buffers_->owned.back().get());
  }
  return *buffers_;
}

ModelLibrary::~ModelLibrary() {
  if (session_ != nullptr) api_->destroy_session(session_);
  if (model_ != nullptr) api_->close(model_);
  if (handle_ != nullptr) dlclose(handle_);
}

std::vector<LibraryDim> ModelLibrary::dims() const {
  std::vector<LibraryDim> dims;
  const mlc_sizes_api* api = api_->sizes;
  for (int32_t d = 0; api != nullptr && d < api->dim_count; ++d) {
    const mlc_dim& dim = api->dims[d];
    dims.push_back({dim.name, dim.least, dim.most, (api->any_size >> d & 1) != 0});
  }
  return dims;
}

std::vector<Dims> ModelLibrary::sizes() const {
  std::vector<Dims> rows;
  const mlc_sizes_api* api = api_->sizes;
  for (int32_t r = 0; api != nullptr && r < api->size_count; ++r) {
    Dims& row = rows.emplace_back();
    for (int32_t d = 0; d < api->dim_count; ++d) {
      row[api->dims[d].name] = api->sizes[r * api->dim_count + d];
    }
  }
  return rows;
}

Status ModelLibrary::SetSizes(const Dims& sizes) {
  const std::vector<std::string> names = DimNames(*api_);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  for (const auto& [name, size] : sizes) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return InvalidArgument(names.empty()
                               ? "the library has one size: it takes no --dim"
                               : "the library has no dimension '" + name + "', it has " + known);
  }
  std::vector<int64_t> row;
  for (const std::string& name : names) {
    const auto size = sizes.find(name);
    if (size == sizes.end()) return InvalidArgument("give a size of each of: " + known);
    row.push_back(size->second);
  }
  if (names.empty()) return {};
  const mlc_status set = api_->sizes->set_sizes(session_, row.data());
  MLC_TRY(Check(*api_, set, "cannot set the sizes", api_->session_error(session_)));
  sizes_now_ = sizes;
  buffers_.reset();
  return {};
}

void ModelLibrary::SetSizesOf(const std::vector<graph::TensorDataRef>& tensors) {
  const auto fits = [&] {
    const std::vector<const mlc_port*> ports = inputs();
    return std::ranges::equal(ports, tensors, [](const mlc_port* port, const auto& tensor) {
      return TypeOf(*port) == graph::TensorType{tensor->dtype, tensor->dims, {}};
    });
  };
  if (fits()) return;
  const Dims before = sizes_now_;
  if (api_->sizes != nullptr && api_->sizes->any_size != 0) {
    if (SetSizes(SizesFrom(*this, tensors)).ok() && fits()) return;
  }
  for (const Dims& row : sizes()) {
    if (SetSizes(row).ok() && fits()) return;
  }
  if (!before.empty()) (void)SetSizes(before);
}

std::vector<const mlc_port*> ModelLibrary::inputs() const {
  std::vector<const mlc_port*> ports;
  for (int32_t i = 0; i < api_->input_count(model_); ++i) {
    ports.push_back(api_->sizes == nullptr ? api_->input(model_, i)
                                           : api_->sizes->input(session_, i));
  }
  return ports;
}

std::vector<const mlc_port*> ModelLibrary::outputs() const {
  std::vector<const mlc_port*> ports;
  for (int32_t i = 0; i < api_->output_count(model_); ++i) {
    ports.push_back(api_->sizes == nullptr ? api_->output(model_, i)
                                           : api_->sizes->output(session_, i));
  }
  return ports;
}

std::vector<std::string> ModelLibrary::step_labels() const {
  std::vector<std::string> labels;
  for (int32_t i = 0; i < StepCount(*api_, model_, session_); ++i) {
    labels.emplace_back(api_->sizes == nullptr ? api_->step_label(model_, i)
                                               : api_->sizes->step_label(session_, i));
  }
  return labels;
}

Status ModelLibrary::SetInputs(const std::vector<graph::TensorDataRef>& tensors) {
  SetSizesOf(tensors);
  const std::vector<const mlc_port*> ports = inputs();
  if (tensors.size() != ports.size()) {
    return InvalidArgument("the model has " + std::to_string(ports.size()) + " inputs, " +
                           std::to_string(tensors.size()) + " are given");
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const graph::TensorType expected = TypeOf(*ports[i]);
    const graph::TensorType given = {tensors[i]->dtype, tensors[i]->dims, {}};
    if (expected != given) {
      return InvalidArgument("input " + std::to_string(i) + " is " + given.ToText() +
                             ", the model takes " + expected.ToText() +
                             (sizes_now_.empty() ? "" : ", or that of another of its sizes"));
    }
    std::memcpy(buffers().owned[i].get(), tensors[i]->bytes.data(), tensors[i]->bytes.size());
  }
  return {};
}

void ModelLibrary::SetRandomInputs(uint64_t seed) {
  Rng rng(seed);
  const std::vector<const mlc_port*> ports = inputs();
  for (size_t i = 0; i < ports.size(); ++i) FillRandom(*ports[i], buffers().owned[i].get(), rng);
}

Status ModelLibrary::Run() {
  return CheckRun(api_->run(session_, buffers().inputs.data(), buffers().outputs.data()));
}

Status ModelLibrary::RunOn(const std::vector<const void*>& inputs,
                           const std::vector<void*>& outputs) {
  return CheckRun(api_->run(session_, inputs.data(), outputs.data()));
}

Result<std::vector<double>> ModelLibrary::RunTimed(int runs) {
  std::vector<double> times(static_cast<size_t>(runs));
  MLC_TRY(CheckRun(api_->run_timed(session_, buffers().inputs.data(), buffers().outputs.data(),
                                   runs, times.data())));
  return times;
}

Result<std::vector<double>> ModelLibrary::RunProfiled() {
  std::vector<double> times(static_cast<size_t>(StepCount(*api_, model_, session_)));
  MLC_TRY(CheckRun(api_->run_profiled(session_, buffers().inputs.data(), buffers().outputs.data(),
                                      times.data())));
  return times;
}

std::vector<graph::TensorDataRef> ModelLibrary::Outputs() const {
  std::vector<graph::TensorDataRef> tensors;
  for (size_t i = 0; i < buffers().outputs.size(); ++i) {
    const auto* begin = static_cast<const std::byte*>(buffers().outputs[i]);
    const mlc_port* port = api_->result(session_, static_cast<int32_t>(i));
    const graph::TensorType type = TypeOf(*port);
    tensors.push_back(graph::MakeTensorData(type.dtype, type.dims,
                                            std::vector<std::byte>(begin, begin + port->bytes)));
  }
  return tensors;
}

}  // namespace mlc::client
