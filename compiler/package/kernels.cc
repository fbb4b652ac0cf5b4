#include "compiler/package/kernels.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/build/child_process.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/package/device_kernels.h"
#include "compiler/schedule/cuda/raw_cuda.h"

namespace mlc::package {

namespace {

constexpr size_t kAlignment = 64;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<char, Free>;

AlignedBytes Allocate(int64_t bytes) {
  const size_t rounded = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  return AlignedBytes(static_cast<char*>(std::aligned_alloc(kAlignment, rounded)));
}

Status WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return Status(StatusCode::kAlreadyExists, "cannot write '" + path + "'");
  return {};
}

// One compiled preparation, runnable in this process.
struct Prepare {
  std::unique_ptr<build::LoadedObject> object;
  std::vector<mlc_phase_fn> phases;
  codegen::KernelLayout layout;

  static Result<Prepare> Create(const schedule::Preparation& preparation) {
    Prepare prepare;
    const target::Target host = target::DetectHost(1);
    const std::string object = MLC_TRY(codegen::CompileToObject({&preparation.kernel}, host));
    prepare.object = MLC_TRY(build::LoadObject(object));
    prepare.layout = codegen::LayoutOf(preparation.kernel);
    prepare.phases = MLC_TRY(prepare.object->Phases(
        preparation.kernel.name, static_cast<int>(prepare.layout.phase_extents.size())));
    return prepare;
  }

  // Runs it on the step's constants; the result is `bytes` long.
  Result<AlignedBytes> Run(const graph::Program& program, const graph::Step& step,
                           const schedule::Preparation& preparation, int64_t bytes) const {
    std::vector<AlignedBytes> copies;
    std::vector<void*> buffers;
    for (const int operand : preparation.operands) {
      const graph::Placement& place = step.operands[static_cast<size_t>(operand)];
      const graph::TensorData& data = *program.constants[static_cast<size_t>(place.index)];
      // Constants lie anywhere in the mapped model; kernels expect aligned buffers.
      copies.push_back(Allocate(static_cast<int64_t>(data.bytes.size())));
      if (copies.back() == nullptr) return ResourceExhausted("out of memory for a weight");
      std::memcpy(copies.back().get(), data.bytes.data(), data.bytes.size());
      buffers.push_back(copies.back().get() + place.byte_offset);
    }
    AlignedBytes result = Allocate(bytes);
    const AlignedBytes shared = Allocate(layout.shared_bytes);
    const AlignedBytes scratch = Allocate(layout.thread_bytes);
    if (result == nullptr || shared == nullptr || scratch == nullptr) {
      return ResourceExhausted("out of memory for a prepared weight");
    }
    std::memset(result.get(), 0, static_cast<size_t>(bytes));
    buffers.insert(buffers.end(), {result.get(), shared.get(), scratch.get()});
    for (size_t p = 0; p < phases.size(); ++p) {
      phases[p](buffers.data(), 0, layout.phase_extents[p], 0);
    }
    return result;
  }
};

Status WriteAt(const std::string& path, const char* data, int64_t size, int64_t offset) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Status(StatusCode::kAlreadyExists, "cannot write '" + path + "'");
  while (size > 0) {
    const ssize_t written = pwrite(fd, data, static_cast<size_t>(size), offset);
    if (written < 0) {
      close(fd);
      return ResourceExhausted("cannot write '" + path + "': " + std::strerror(errno));
    }
    data += written;
    size -= written;
    offset += written;
  }
  close(fd);
  return {};
}

// What a child says of the cache: how much it found, and why it could not keep the rest.
std::string CacheNotePath(const TaskKernel& kernel) { return kernel.object_path + ".cache"; }

void ReadCacheNote(const TaskKernel& kernel, CompiledKernels& compiled) {
  std::ifstream in(CacheNotePath(kernel));
  int64_t found = 0, made = 0;
  in >> found >> made;
  in.ignore();
  compiled.found += found;
  compiled.made += made;
  std::string failure;
  if (std::getline(in, failure)) compiled.cache_failure = failure;
}

Status WriteCode(const TaskKernel& kernel, const target::Target& target, const DeviceTools& tools) {
  if (!target.is_cuda()) {
    return WriteFile(kernel.object_path,
                     MLC_TRY(codegen::CompileToObject({&kernel.lowered.kernel}, target)));
  }
  const bool by_hand = kernel.lowered.kernel.phases.empty();
  const DeviceCode code = MLC_TRY(by_hand ? CompileSource(kernel.device.text, target, tools)
                                          : CompileForDevice(kernel.lowered.kernel, target, tools));
  MLC_TRY(WriteFile(kernel.object_path, code.binary));
  MLC_TRY(WriteFile(CacheNotePath(kernel), std::to_string(code.found) + " " +
                                               std::to_string(code.made) + " " +
                                               (code.kept.ok() ? "" : code.kept.message())));
  return WriteFile(kernel.portable_path, code.portable);
}

// Everything one task needs, in a child of its own.
Status CompileTask(int task, const graph::Program& program, const TaskKernel& kernel,
                   const WeightsPlan& weights, const std::string& weights_path,
                   const target::Target& target, const DeviceTools& tools) {
  MLC_TRY(WriteCode(kernel, target, tools));
  std::vector<std::unique_ptr<Prepare>> prepares(kernel.lowered.preparations.size());
  for (const WeightsPlan::Prepared& item : weights.prepared) {
    const graph::Step& step = program.steps[static_cast<size_t>(item.step)];
    if (step.task != task) continue;
    const auto index = static_cast<size_t>(item.preparation);
    const schedule::Preparation& preparation = kernel.lowered.preparations[index];
    if (prepares[index] == nullptr) {
      prepares[index] = std::make_unique<Prepare>(MLC_TRY(Prepare::Create(preparation)));
    }
    const AlignedBytes bytes =
        MLC_TRY(prepares[index]->Run(program, step, preparation, item.bytes));
    MLC_TRY(WriteAt(weights_path, bytes.get(), item.bytes, item.offset));
  }
  return {};
}

// One that somebody wrote by hand: there is nothing to lower.
Result<TaskKernel> RawKernel(const graph::Workload& workload, const schedule::Config& config,
                             const target::Target& target) {
  schedule::RawCuda raw = MLC_TRY(schedule::RawCuda::FromConfig(config));
  MLC_TRY(schedule::CheckFits(raw, target));
  TaskKernel kernel;
  kernel.lowered.bindings = schedule::RawBindings(workload);
  kernel.device.text = std::move(raw.source);
  kernel.device.launches = {{std::move(raw.entry), raw.blocks, raw.threads, raw.block_bytes}};
  return kernel;
}

// All but the names of its files.
Result<TaskKernel> LowerTask(const graph::Workload& workload, const schedule::Config& config,
                             const target::Target& target, const std::string& name) {
  if (schedule::IsRawCuda(config)) return RawKernel(workload, config, target);
  TaskKernel kernel;
  kernel.lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  kernel.lowered.kernel.name = name;
  if (target.is_cuda()) {
    kernel.device = MLC_TRY(codegen::PrintCuda(kernel.lowered.kernel, target));
  } else {
    kernel.layout = codegen::LayoutOf(kernel.lowered.kernel);
  }
  return kernel;
}

}  // namespace

int64_t TaskKernel::shared_bytes() const {
  return device.launches.empty() ? layout.shared_bytes : device.shared_bytes;
}

int64_t TaskKernel::thread_bytes() const {
  return device.launches.empty() ? layout.thread_bytes : device.counter_bytes;
}

std::string HostMachine(const target::Target& target) {
  return target.is_cuda() ? target::DetectHost(1).arch : target.arch;
}

Result<std::vector<TaskKernel>> LowerKernels(const graph::Program& program,
                                             std::span<const Choice> choices,
                                             const target::Target& target, const std::string& name,
                                             const std::string& temporary_directory) {
  std::vector<TaskKernel> kernels;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const graph::Workload& workload = program.tasks[i].workload;
    Result<TaskKernel> kernel =
        LowerTask(workload, choices[i].config, target, "mlc_" + name + "_k" + std::to_string(i));
    if (!kernel.ok()) {
      return kernel.status().WithPrefix("task " + std::to_string(i) + " (" + workload.Summary() +
                                        ")");
    }
    const std::string file = temporary_directory + "/k" + std::to_string(i);
    kernel->object_path = file + (target.is_cuda() ? ".cubin" : ".o");
    if (target.is_cuda()) kernel->portable_path = file + ".ptx";
    kernels.push_back(*std::move(kernel));
  }
  return kernels;
}

Result<CompiledKernels> CompileKernels(const graph::Program& program,
                                       std::span<const TaskKernel> kernels,
                                       const WeightsPlan& weights, const std::string& weights_path,
                                       const target::Target& target,
                                       const LibraryOptions& options) {
  CompiledKernels compiled;
  std::unique_ptr<build::Nvrtc> nvrtc;
  std::optional<build::CubinCache> cubins;
  if (target.is_cuda()) {
    // Opened once: the children share it.
    nvrtc = MLC_TRY(build::Nvrtc::Open(options.cuda_home));
    if (!options.cubin_cache.empty()) {
      Result<build::CubinCache> opened = build::CubinCache::Open(options.cubin_cache);
      if (!opened.ok()) compiled.cache_failure = opened.status().message();
      if (opened.ok()) cubins = *std::move(opened);
    }
  }
  const DeviceTools tools{nvrtc.get(), cubins ? &*cubins : nullptr};
  MLC_TRY(build::RunInChildren(static_cast<int>(kernels.size()), options.parallel, [&](int task) {
    return CompileTask(task, program, kernels[static_cast<size_t>(task)], weights, weights_path,
                       target, tools)
        .WithPrefix("task " + std::to_string(task) + " (" +
                    program.tasks[static_cast<size_t>(task)].workload.Summary() + ")");
  }));
  if (!target.is_cuda()) return compiled;
  for (const TaskKernel& kernel : kernels) ReadCacheNote(kernel, compiled);
  if (cubins && compiled.made > 0) cubins->Trim();
  return compiled;
}

}  // namespace mlc::package
