#include "compiler/package/device_kernels.h"

#include <fstream>
#include <iterator>
#include <utility>
#include <variant>

#include "base/process/child_process.h"
#include "base/write_text.h"
#include "compiler/codegen/cuda/cuda.h"

namespace mlc::package {

bool AwaitsInputs(const ir::Stmt& phase) {
  if (const auto* block = std::get_if<ir::Block>(&phase.node)) {
    for (const ir::StmtRef& stmt : block->body) {
      if (AwaitsInputs(*stmt)) return true;
    }
    return false;
  }
  if (const auto* loop = std::get_if<ir::For>(&phase.node)) return AwaitsInputs(*loop->body);
  const auto* sync = std::get_if<ir::Sync>(&phase.node);
  return sync != nullptr && sync->kind == ir::SyncKind::kAwaitInputs;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Internal("cannot read '" + path + "'");
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

Result<DeviceBuilds> DeviceBuilds::Open(const LibraryOptions& options) {
  DeviceBuilds builds;
  builds.nvrtc_ = MLC_TRY(build::Nvrtc::Open(options.cuda_home));
  if (options.cubin_cache.empty()) return builds;
  Result<build::CubinCache> opened = build::CubinCache::Open(options.cubin_cache);
  if (opened.ok()) {
    builds.cache_ = *std::move(opened);
  } else {
    builds.counts_.cache_failure = opened.status().message();
  }
  return builds;
}

Result<std::vector<DeviceSource>> DeviceBuilds::Missing(const TaskKernel& kernel,
                                                        const target::Target& target) {
  std::vector<DeviceSource> sources;
  if (!kernel.is_substitute) {
    sources.push_back({.text = kernel.device.text,
                       .arch = target.gpu().CudaArch(),
                       .path = kernel.object_path,
                       .entry = ""});
    if (kernel.is_user_kernel()) sources[0].entry = kernel.device.launches[0].function;
  }
  if (!kernel.portable_source.empty()) {
    sources.push_back({.text = kernel.portable_source,
                       .arch = "compute_" + std::to_string(target.gpu().compute),
                       .path = kernel.portable_path,
                       .entry = ""});
  }
  std::vector<DeviceSource> missing;
  for (DeviceSource& source : sources) {
    std::optional<build::CudaBinary> found;
    if (cache_) found = cache_->Find(build::CubinCache::KeyOf(*nvrtc_, source.text, source.arch));
    if (found) {
      MLC_TRY(Write(source, *found));
      ++counts_.found;
    } else {
      missing.push_back(std::move(source));
    }
  }
  if (!missing.empty() && !std::exchange(warm_, true)) MLC_TRY(build::WarmUp(*nvrtc_));
  return missing;
}

Status DeviceBuilds::Compile(const std::vector<DeviceSource>& missing,
                             std::span<const int> files) const {
  for (size_t i = 0; i < missing.size(); ++i) {
    const Result<build::CudaBinary> binary = nvrtc_->Compile(missing[i].text, missing[i].arch);
    MLC_TRY(binary.status());
    const std::string bytes = build::Encode(*binary);
    if (!build::WriteAt(files[i], bytes.data(), static_cast<int64_t>(bytes.size()), 0)) {
      return ResourceExhausted("cannot write '" + missing[i].path + "': is the disk full?");
    }
  }
  return {};
}

Status DeviceBuilds::Take(const std::vector<DeviceSource>& missing) {
  for (const DeviceSource& source : missing) {
    const std::string bytes = MLC_TRY(ReadFile(source.path));
    const build::CudaBinary binary = MLC_TRY(build::DecodeCudaBinary(bytes));
    MLC_TRY(Write(source, binary));
    ++counts_.made;
    if (!cache_) continue;
    const Status kept =
        cache_->Put(build::CubinCache::KeyOf(*nvrtc_, source.text, source.arch), binary);
    if (!kept.ok()) counts_.cache_failure = kept.message();
  }
  return {};
}

CompiledKernels DeviceBuilds::Finish() {
  if (cache_ && counts_.made > 0) cache_->Trim();
  return counts_;
}

Status DeviceBuilds::Write(const DeviceSource& source, const build::CudaBinary& binary) {
  if (!source.entry.empty()) MLC_TRY(build::CheckEntry(binary, source.entry));
  return WriteText(source.path, binary.image);
}

}  // namespace mlc::package
