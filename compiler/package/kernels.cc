#include "compiler/package/kernels.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
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

// One compiled preparation, runnable in this process.
struct Prepare {
  std::unique_ptr<build::LoadedObject> object;
  std::vector<mlc_phase_fn> phases;
  codegen::KernelLayout layout;

  static Result<Prepare> Create(const schedule::Preparation& preparation,
                                const target::Target& host) {
    Prepare prepare;
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

// Compiles the kernels of one library: a child for each, which has its files before its fence
// closes and nothing else.
class KernelCompiler {
 public:
  KernelCompiler(const graph::Program& program, std::span<const TaskKernel> kernels,
                 const WeightsPlan& weights, const std::string& weights_path)
      : program_(program), kernels_(kernels), weights_(weights), weights_path_(weights_path) {
    prepared_.resize(kernels.size());
    for (const WeightsPlan::Prepared& item : weights.prepared) {
      prepared_[static_cast<size_t>(program.steps[static_cast<size_t>(item.step)].task)].push_back(
          &item);
    }
  }

  Result<CompiledKernels> Run(const target::Target& target, const LibraryOptions& options) {
    target_ = target;
    if (target.is_cuda()) {
      device_ = MLC_TRY(DeviceBuilds::Open(options));
      for (const TaskKernel& kernel : kernels_) {
        missing_.push_back(MLC_TRY(device_->Missing(kernel, target)));
      }
    }
    build::FencedJobs jobs;
    jobs.count = static_cast<int>(kernels_.size());
    jobs.parallel = options.parallel;
    jobs.name = [this](int task) { return NameOf(task); };
    jobs.limits = [this](int task) { return LimitsOf(task); };
    jobs.open = [this](int task) { return OpenFiles(static_cast<size_t>(task)); };
    jobs.work = [this](int task, std::span<const int> files) {
      return CompileTask(static_cast<size_t>(task), files);
    };
    MLC_TRY(build::RunFenced(jobs));
    if (!device_) return CompiledKernels();
    for (size_t task = 0; task < missing_.size(); ++task) {
      const Status taken = device_->Take(missing_[task]);
      if (!taken.ok()) return taken.WithPrefix(NameOf(static_cast<int>(task)));
    }
    return device_->Finish();
  }

 private:
  std::string NameOf(int task) const {
    const bool by_hand = kernels_[static_cast<size_t>(task)].written_by_hand();
    return "task " + std::to_string(task) + " (" +
           program_.tasks[static_cast<size_t>(task)].workload.Summary() +
           (by_hand ? ", written by hand)" : ")");
  }

  build::Limits LimitsOf(int task) const {
    int64_t bytes = 0;
    for (const WeightsPlan::Prepared* item : prepared_[static_cast<size_t>(task)]) {
      bytes += item->bytes;
    }
    // A family's kernels are what this program makes of a few numbers.
    build::Limits limits =
        build::CompilerLimits(kernels_[static_cast<size_t>(task)].written_by_hand(), bytes);
    limits.file_bytes += weights_.bytes;
    return limits;
  }

  // Those of the code, then that of the weights, if the task prepares some.
  Result<std::vector<int>> OpenFiles(size_t task) const {
    std::vector<std::string> paths;
    if (!device_) paths.push_back(kernels_[task].object_path);
    if (device_) {
      for (const DeviceSource& source : missing_[task]) paths.push_back(source.path);
    }
    std::vector<int> files;
    for (const std::string& path : paths) {
      files.push_back(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (files.back() < 0) return CannotWrite(path);
    }
    if (prepared_[task].empty()) return files;
    files.push_back(open(weights_path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (files.back() < 0) return CannotWrite(weights_path_);
    return files;
  }

  static Status CannotWrite(const std::string& path) {
    return {StatusCode::kAlreadyExists, "cannot write '" + path + "': " + std::strerror(errno)};
  }
  static Status WriteTo(int file, const std::string& path, const char* data, int64_t size,
                        int64_t offset) {
    if (build::WriteAt(file, data, size, offset)) return {};
    return ResourceExhausted("cannot write '" + path + "': " + std::strerror(errno));
  }

  // The child's part.
  Status CompileTask(size_t task, std::span<const int> files) const {
    const TaskKernel& kernel = kernels_[task];
    if (device_) {
      MLC_TRY(device_->Compile(missing_[task], files));
    } else {
      const std::string object =
          MLC_TRY(codegen::CompileToObject({&kernel.lowered.kernel}, target_));
      MLC_TRY(WriteTo(files[0], kernel.object_path, object.data(),
                      static_cast<int64_t>(object.size()), 0));
    }
    std::vector<std::unique_ptr<Prepare>> prepares(kernel.lowered.preparations.size());
    for (const WeightsPlan::Prepared* item : prepared_[task]) {
      const auto index = static_cast<size_t>(item->preparation);
      const schedule::Preparation& preparation = kernel.lowered.preparations[index];
      if (prepares[index] == nullptr) {
        prepares[index] = std::make_unique<Prepare>(MLC_TRY(Prepare::Create(preparation, host_)));
      }
      const AlignedBytes bytes = MLC_TRY(prepares[index]->Run(
          program_, program_.steps[static_cast<size_t>(item->step)], preparation, item->bytes));
      MLC_TRY(WriteTo(files.back(), weights_path_, bytes.get(), item->bytes, item->offset));
    }
    return {};
  }

  const graph::Program& program_;
  const std::span<const TaskKernel> kernels_;
  const WeightsPlan& weights_;
  const std::string& weights_path_;
  std::vector<std::vector<const WeightsPlan::Prepared*>> prepared_;  // by task
  target::Target target_;
  const target::Target host_ = target::DetectHost(1);  // a child reads nothing of the machine
  std::optional<DeviceBuilds> device_;                 // for GPUs
  std::vector<std::vector<DeviceSource>> missing_;     // by task
};

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
  return KernelCompiler(program, kernels, weights, weights_path).Run(target, options);
}

}  // namespace mlc::package
