#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

#include <algorithm>
#include <utility>

#include "compiler/schedule/cuda/user_kernel/packed_source.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"

namespace mlc::schedule {
namespace {

constexpr int kUserKernelVersion = 1;
constexpr size_t kMaxEntry = 200;
constexpr int64_t kMaxBlockBytes = int64_t{1} << 20;
constexpr std::string_view kSourceKnob = " source=";

bool IsName(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kMaxEntry && letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status CheckBlockBytes(int64_t block_bytes) {
  if (block_bytes >= 0 && block_bytes <= kMaxBlockBytes) return Status();
  return InvalidArgument("a block cannot have " + std::to_string(block_bytes) +
                         " bytes of shared memory");
}

Status CheckEntry(const std::string& entry, const std::string& source) {
  if (!IsName(entry)) {
    return InvalidArgument("'" + entry.substr(0, 60) +
                           "' is not the name of a function: 1 to 200 letters, digits and _");
  }
  if (source.find(entry) != std::string::npos) return Status();
  return InvalidArgument("the source has no function '" + entry +
                         "': it must be extern \"C\" __global__");
}

Config ConfigOf(const UserKernel& user_kernel, const std::string& packed) {
  Config config{std::string(kUserKernel), kUserKernelVersion, {}, {}};
  config.knobs = {{"blocks", user_kernel.grid.x},          {"blocks_y", user_kernel.grid.y},
                  {"blocks_z", user_kernel.grid.z},        {"threads", user_kernel.block.x},
                  {"threads_y", user_kernel.block.y},      {"threads_z", user_kernel.block.z},
                  {"block_bytes", user_kernel.block_bytes}};
  config.words = {{"entry", user_kernel.entry}, {"source", packed}};
  return config;
}

template <typename Values>
bool SameNames(const Values& values, const Values& expected) {
  return std::equal(values.begin(), values.end(), expected.begin(), expected.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first; });
}

}  // namespace

Result<Config> UserKernel::ToConfig() const {
  if (language != KernelLanguage::kCuda) {
    return InvalidArgument("a kernel in C needs a specification: mlc-tune --kernel");
  }
  MLC_TRY(target::CheckLaunch(grid, block));
  MLC_TRY(CheckBlockBytes(block_bytes));
  const std::string packed = MLC_TRY(PackSource(source));
  MLC_TRY(CheckEntry(entry, source));
  return ConfigOf(*this, packed);
}

Result<UserKernel> UserKernel::FromConfig(const Config& config) {
  if (!IsUserKernel(config))
    return InvalidArgument(config.family + " is not a user-supplied kernel");
  if (config.version == TunedKernel::kVersion) {
    return MLC_TRY(TunedKernel::FromConfig(config)).Instantiate(config);
  }
  if (config.version != kUserKernelVersion) {
    return FailedPrecondition("the kernel is of " + std::string(kUserKernel) + " version " +
                              std::to_string(config.version) + ", this build takes version " +
                              std::to_string(kUserKernelVersion) +
                              ": submit its source again with mlc-tune --cuda-kernel");
  }
  UserKernel user_kernel;
  const Config form = ConfigOf(user_kernel, "");
  if (!SameNames(config.knobs, form.knobs) || !SameNames(config.words, form.words)) {
    return InvalidArgument(
        "a user-supplied kernel has blocks and threads along x, y and z, block_bytes, entry and "
        "source, in this order");
  }
  user_kernel.grid = {config["blocks"], config["blocks_y"], config["blocks_z"]};
  user_kernel.block = {config["threads"], config["threads_y"], config["threads_z"]};
  user_kernel.block_bytes = config["block_bytes"];
  MLC_TRY(target::CheckLaunch(user_kernel.grid, user_kernel.block));
  MLC_TRY(CheckBlockBytes(user_kernel.block_bytes));
  user_kernel.entry = config.words[0].second;
  user_kernel.source = MLC_TRY(UnpackSource(config.words[1].second));
  MLC_TRY(CheckEntry(user_kernel.entry, user_kernel.source));
  return user_kernel;
}

std::vector<std::string> UserKernelNames() {
  std::vector<std::string> names;
  for (const int version : {kUserKernelVersion, TunedKernel::kVersion}) {
    names.push_back(std::string(kUserKernel) + "/" + std::to_string(version));
  }
  return names;
}

std::string UserKernelName(std::string_view config) {
  return std::string(config.substr(0, config.find(' ')));
}

bool IsUserKernel(const Config& config) { return config.family == kUserKernel; }

bool IsUserKernel(std::string_view config) {
  return config.substr(0, config.find('/')) == kUserKernel;
}

Status CheckFits(const UserKernel& user_kernel, const target::Target& target) {
  const auto* gpu = target.As<target::GpuTarget>();
  if (user_kernel.language == KernelLanguage::kC) {
    if (target.As<target::CpuTarget>() != nullptr) return Status();
    return InvalidArgument("a kernel in C cannot run on " + target.ClassText());
  }
  if (gpu == nullptr) {
    return InvalidArgument("a CUDA kernel cannot run on " + target.ClassText());
  }
  if (user_kernel.block_bytes <= gpu->block_bytes) return Status();
  return InvalidArgument("the kernel's blocks take " + std::to_string(user_kernel.block_bytes) +
                         " bytes of shared memory; " + gpu->CudaArch() + " has " +
                         std::to_string(gpu->block_bytes));
}

std::vector<Binding> UserKernelBindings(const graph::Workload& workload) {
  std::vector<Binding> bindings;
  for (size_t i = 0; i < workload.operands().size(); ++i) {
    bindings.push_back({Binding::Kind::kOperand, static_cast<int>(i)});
  }
  for (size_t i = 0; i < workload.outputs().size(); ++i) {
    bindings.push_back({Binding::Kind::kOutput, static_cast<int>(i)});
  }
  return bindings;
}

std::string BriefConfig(std::string_view config) {
  const size_t at = config.find(kSourceKnob);
  if (!IsUserKernel(config) || at == std::string_view::npos) return std::string(config);
  return std::string(config.substr(0, at)) + " (user-supplied)";
}

}  // namespace mlc::schedule
