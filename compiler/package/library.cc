#include "compiler/package/library.h"

#include <unistd.h>

#include <cctype>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/write_text.h"
#include "compiler/package/c_header.h"
#include "compiler/package/elf_object.h"
#include "compiler/package/image_writer.h"
#include "compiler/package/kernels.h"
#include "compiler/package/link.h"
#include "compiler/package/loaded_bytes.h"
#include "compiler/package/packaging.h"
#include "compiler/package/packed_code.h"
#include "compiler/package/plans.h"
#include "compiler/package/row_limits.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/model.h"

namespace mlc::package {

namespace {

namespace fs = std::filesystem;

Status CannotWrite(const fs::path& path, const std::string& why) {
  return Unwritable("cannot write '" + path.string() + "': " + why);
}

// A folder beside the results; gone with the object.
class WorkFolder {
 public:
  static Result<WorkFolder> Create(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) return CannotWrite(directory, error.message());
    fs::path path = directory / (".work-" + std::to_string(getpid()));
    fs::create_directory(path, error);
    if (error) return CannotWrite(path, error.message());
    return WorkFolder(std::move(path));
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string File(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// The steps of WriteLibrary, sharing what they have made.
class LibraryWriter {
 public:
  LibraryWriter(const graph::Program& program, const Plans& plans, const target::Target& target,
                const LibraryOptions& options, WorkFolder work)
      : program_(program),
        plans_(plans),
        target_(target),
        packaging_(PackagingOf(target)),
        options_(options),
        work_(std::move(work)) {}

  Result<LibraryReport> Write(std::span<const Choice> choices) {
    MLC_TRY(MakeKernels(choices));
    MLC_TRY(MakeCodeObject());
    MLC_TRY(MakeWeightsObject());
    MLC_TRY(MakeRuntimeObjects());
    MLC_TRY(MakeLibraries());
    MLC_TRY(MakeHeaders());
    MLC_TRY(MoveIn());
    return Report();
  }

 private:
  std::string weights_file() const { return work_.File(options_.name + ".weights"); }

  Status MakeKernels(std::span<const Choice> choices) {
    kernels_ =
        MLC_TRY(LowerKernels(program_, choices, target_, options_.name, work_.path().string()));
    MLC_TRY(LimitKernels(program_, plans_.plans, choices, target_, kernels_));
    std::vector<const schedule::LoweredKernel*> lowered(program_.tasks.size());
    std::vector<const schedule::LoweredKernel*> substitutes(program_.tasks.size());
    for (const TaskKernel& kernel : kernels_) {
      auto& kernels = kernel.is_substitute ? substitutes : lowered;
      kernels[static_cast<size_t>(kernel.task)] = &kernel.lowered;
    }
    weights_ = PlanWeights(program_, lowered, substitutes);
    MLC_TRY(WriteRawWeights(program_, weights_, weights_file()));
    compiled_ =
        MLC_TRY(CompileKernels(program_, kernels_, weights_, weights_file(), target_, options_));
    weights_check_ = MLC_TRY(SealWeights(weights_file()));
    return {};
  }

  // Code for devices is data of the library.
  Status MakeCodeObject() {
    if (!packaging_.has_device_code) return {};
    objects_.push_back(work_.File(options_.name + "_code.o"));
    code_ = MLC_TRY(WriteDeviceCode(program_, kernels_, options_.name, packaging_.machine(target_),
                                    objects_.back()));
    return {};
  }

  Status MakeWeightsObject() {
    if (!options_.embed_weights) return {};
    ElfObject object(packaging_.machine(target_));
    const int section = object.AddFileSection("weights", weights_file(), weights_.bytes);
    object.Define(WeightsSymbol(options_.name), section, 0, weights_.bytes, true);
    objects_.push_back(work_.File(options_.name + "_weights.o"));
    return object.WriteTo(objects_.back());
  }

  Status MakeRuntimeObjects() {
    for (const RuntimeObject& object : MLC_TRY(packaging_.runtime(target_))) {
      objects_.push_back(work_.File(object.name));
      MLC_TRY(WriteText(objects_.back(), object.bytes));
    }
    return {};
  }

  Status MakeLibraries() {
    for (const TaskKernel& kernel : kernels_) {
      if (!packaging_.has_device_code) objects_.push_back(kernel.object_path);
    }
    ImageOptions image{options_.name, options_.embed_weights, weights_check_, /*entry=*/true};
    const std::string shared_image = work_.File(options_.name + "_shared.o");
    MLC_TRY(WriteImage(program_, plans_, kernels_, weights_, code_, target_, image, shared_image));
    image.entry = false;
    const std::string static_image = work_.File(options_.name + "_model.o");
    MLC_TRY(WriteImage(program_, plans_, kernels_, weights_, code_, target_, image, static_image));

    LinkJob job;
    job.objects = objects_;
    job.objects.push_back(shared_image);
    job.exported = {options_.name + "_model", MLC_MODEL_ENTRY};
    job.soname = shared_name();
    job.machine = packaging_.machine(target_);
    job.output = work_.File(shared_name());
    job.scratch_dir = work_.path().string();
    MLC_TRY(LinkShared(job));

    std::vector<std::string> members = objects_;
    members.push_back(static_image);
    return WriteArchive(members, work_.File(static_name()));
  }

  Status MakeHeaders() {
    const std::vector<InPlacePair> in_place =
        InPlacePairs(program_, plans_, OwnKernels(program_, kernels_));
    MLC_TRY(WriteText(work_.File("mlc_model.h"), SharedHeader()));
    if (plans_.has_sizes()) MLC_TRY(WriteText(work_.File("mlc_sizes.h"), SizesHeader()));
    return WriteText(work_.File(options_.name + ".h"), CHeader(plans_, in_place, options_.name));
  }

  Status MoveIn() {
    std::vector<std::string> results = {shared_name(), static_name(), "mlc_model.h",
                                        options_.name + ".h"};
    if (plans_.has_sizes()) results.emplace_back("mlc_sizes.h");
    if (!options_.embed_weights) results.push_back(options_.name + ".weights");
    const fs::path directory(options_.directory);
    for (const std::string& name : results) {
      std::error_code error;
      fs::rename(work_.path() / name, directory / name, error);
      if (error) return CannotWrite(directory / name, error.message());
    }
    return {};
  }

  LibraryReport Report() const {
    LibraryReport report;
    const fs::path directory(options_.directory);
    report.shared_library = (directory / shared_name()).string();
    report.static_library = (directory / static_name()).string();
    report.weights_bytes = weights_.bytes;
    report.arena_bytes = program_.arena_bytes;
    report.substitute_weights_bytes = weights_.bytes - weights_.own_bytes;
    int64_t shared = 0, thread = 0;
    for (const TaskKernel* kernel : OwnKernels(program_, kernels_)) {
      shared = std::max(shared, kernel->workspace_bytes());
      thread = std::max(thread, kernel->thread_bytes());
    }
    report.scratch_bytes = shared + thread;
    if (packaging_.has_device_code) {
      report.portable = code_.texts.has_value();
      report.code_bytes = code_.binaries.frame_bytes;
      report.unpacked_code_bytes = code_.binaries.bytes;
      if (code_.texts) {
        report.code_bytes += code_.texts->frame_bytes;
        report.unpacked_code_bytes += code_.texts->bytes;
      }
    } else {
      for (const TaskKernel& kernel : kernels_) {
        report.code_bytes += LoadedBytes(kernel.object_path);
      }
    }
    report.code_found = compiled_.found;
    report.code_made = compiled_.made;
    report.cache_failure = compiled_.cache_failure;
    return report;
  }

  std::string shared_name() const { return "lib" + options_.name + ".so"; }
  std::string static_name() const { return "lib" + options_.name + ".a"; }

  const graph::Program& program_;
  const Plans& plans_;
  const target::Target& target_;
  const Packaging& packaging_;
  const LibraryOptions& options_;
  WorkFolder work_;
  std::vector<TaskKernel> kernels_;
  WeightsPlan weights_;
  CompiledKernels compiled_;
  DeviceCode code_;  // of a library for devices
  uint64_t weights_check_ = 0;
  std::vector<std::string> objects_;  // of both libraries: weights, runtime, kernels
};

Result<LibraryReport> WriteAny(const graph::Program& program, const Plans& plans,
                               std::span<const Choice> choices, const target::Target& target,
                               const LibraryOptions& options) {
  if (LibraryNameFrom(options.name) != options.name) {
    return InvalidArgument("'" + options.name +
                           "' cannot name a library: use lower-case letters, digits and '_'");
  }
  WorkFolder work = MLC_TRY(WorkFolder::Create(options.directory));
  return LibraryWriter(program, plans, target, options, std::move(work)).Write(choices);
}

}  // namespace

Result<LibraryReport> WriteLibrary(const graph::Program& program, std::span<const Choice> choices,
                                   const target::Target& target, const LibraryOptions& options) {
  return WriteAny(program, OnePlan(program), choices, target, options);
}

Result<LibraryReport> WriteLibrary(const MergedPrograms& merged, const target::Target& target,
                                   const LibraryOptions& options) {
  return WriteAny(merged.program, merged.plans, merged.choices, target, options);
}

std::string LibraryNameFrom(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const auto lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    name += plain ? lower : '_';
  }
  if (name.empty() || name[0] < 'a' || name[0] > 'z') name = "model_" + name;
  return name;
}

}  // namespace mlc::package
