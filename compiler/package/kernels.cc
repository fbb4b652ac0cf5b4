#include "compiler/package/kernels.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/process/child_process.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/package/device_kernels.h"
#include "compiler/package/packaging.h"

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
    const AlignedBytes shared = Allocate(layout.workspace_bytes);
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

// Compiles the kernels of one library: a child for each, which has its files before it enters the
// sandbox closes and nothing else.
class KernelCompiler {
 public:
  KernelCompiler(const graph::Program& program, std::span<const TaskKernel> kernels,
                 const WeightsPlan& weights, const std::string& weights_path)
      : program_(program), kernels_(kernels), weights_(weights), weights_path_(weights_path) {
    prepared_.resize(kernels.size());
    for (const WeightsPlan::Prepared& item : weights.prepared) {
      const int task = program.steps[static_cast<size_t>(item.step)].task;
      const auto reader = std::find_if(kernels.begin(), kernels.end(), [&](const TaskKernel& k) {
        return k.task == task && k.is_substitute == item.for_substitute;
      });
      prepared_[static_cast<size_t>(reader - kernels.begin())].push_back(&item);
    }
  }

  Result<CompiledKernels> Run(const target::Target& target, const LibraryOptions& options) {
    target_ = target;
    if (PackagingOf(target).has_device_code) {
      device_ = MLC_TRY(DeviceBuilds::Open(options));
      for (const TaskKernel& kernel : kernels_) {
        missing_.push_back(MLC_TRY(device_->Missing(kernel, target)));
      }
    }
    build::SandboxedJobs jobs;
    jobs.count = static_cast<int>(kernels_.size());
    jobs.parallel = options.parallel;
    jobs.name = [this](int k) { return NameOf(k); };
    jobs.limits = [this](int k) { return LimitsOf(k); };
    jobs.open = [this](int k) { return OpenFiles(static_cast<size_t>(k)); };
    jobs.work = [this](int k, std::span<const int> files) {
      return CompileKernel(static_cast<size_t>(k), files);
    };
    MLC_TRY(build::RunSandboxed(jobs));
    if (!device_) return CompiledKernels();
    for (size_t k = 0; k < missing_.size(); ++k) {
      const Status taken = device_->Take(missing_[k]);
      if (!taken.ok()) return taken.WithPrefix(NameOf(static_cast<int>(k)));
    }
    return device_->Finish();
  }

 private:
  std::string NameOf(int k) const {
    const TaskKernel& kernel = kernels_[static_cast<size_t>(k)];
    return "task " + std::to_string(kernel.task) + " (" +
           program_.tasks[static_cast<size_t>(kernel.task)].workload.Summary() +
           (kernel.is_user_kernel() ? ", user-supplied" : "") +
           (kernel.is_substitute ? ", for newer GPUs)" : ")");
  }

  build::Limits LimitsOf(int k) const {
    int64_t bytes = 0;
    for (const WeightsPlan::Prepared* item : prepared_[static_cast<size_t>(k)]) {
      bytes += item->bytes;
    }
    // A family's kernels are what this program makes of a few numbers.
    build::Limits limits =
        build::CompilerLimits(kernels_[static_cast<size_t>(k)].is_user_kernel(), bytes);
    limits.file_bytes += weights_.bytes;
    return limits;
  }

  // Those of the code, then that of the weights, if the kernel has some prepared.
  Result<std::vector<int>> OpenFiles(size_t k) const {
    std::vector<std::string> paths;
    if (!device_) paths.push_back(kernels_[k].object_path);
    if (device_) {
      for (const DeviceSource& source : missing_[k]) paths.push_back(source.path);
    }
    std::vector<int> files;
    for (const std::string& path : paths) {
      files.push_back(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (files.back() < 0) return CannotWrite(path);
    }
    if (prepared_[k].empty()) return files;
    files.push_back(open(weights_path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (files.back() < 0) return CannotWrite(weights_path_);
    return files;
  }

  static Status CannotWrite(const std::string& path) {
    return Unwritable("cannot write '" + path + "': " + std::strerror(errno));
  }
  static Status WriteTo(int file, const std::string& path, const char* data, int64_t size,
                        int64_t offset) {
    if (build::WriteAt(file, data, size, offset)) return {};
    return ResourceExhausted("cannot write '" + path + "': " + std::strerror(errno));
  }

  // The child's part.
  Status CompileKernel(size_t k, std::span<const int> files) const {
    const TaskKernel& kernel = kernels_[k];
    if (device_) {
      MLC_TRY(device_->Compile(missing_[k], files));
    } else {
      const std::string object =
          MLC_TRY(codegen::CompileToObject({&kernel.lowered.kernel}, target_));
      MLC_TRY(WriteTo(files[0], kernel.object_path, object.data(),
                      static_cast<int64_t>(object.size()), 0));
    }
    std::vector<std::unique_ptr<Prepare>> prepares(kernel.lowered.preparations.size());
    for (const WeightsPlan::Prepared* item : prepared_[k]) {
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
  std::vector<std::vector<const WeightsPlan::Prepared*>> prepared_;  // by kernel
  target::Target target_;
  const target::Target host_ = target::DetectHost(1);  // a child reads nothing of the machine
  std::optional<DeviceBuilds> device_;                 // for GPUs
  std::vector<std::vector<DeviceSource>> missing_;     // by kernel
};

}  // namespace

Result<CompiledKernels> CompileKernels(const graph::Program& program,
                                       std::span<const TaskKernel> kernels,
                                       const WeightsPlan& weights, const std::string& weights_path,
                                       const target::Target& target,
                                       const LibraryOptions& options) {
  return KernelCompiler(program, kernels, weights, weights_path).Run(target, options);
}

}  // namespace mlc::package
