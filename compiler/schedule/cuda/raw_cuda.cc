#include "compiler/schedule/cuda/raw_cuda.h"

#include <algorithm>
#include <array>

#include "compiler/schedule/cuda/packed_source.h"

namespace mlc::schedule {
namespace {

constexpr int kVersion = 1;
constexpr size_t kMaxEntry = 200;
// A log's record has no room for a longer config.
constexpr size_t kMaxText = 8191;
constexpr int64_t kMaxBlockBytes = int64_t{1} << 20;
constexpr std::array<std::string_view, 3> kKnobs = {"blocks", "threads", "block_bytes"};
constexpr std::array<std::string_view, 2> kWords = {"entry", "source"};
constexpr std::string_view kSourceKnob = " source=";

bool IsName(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= kMaxEntry && letter(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

Status CheckLaunch(int64_t blocks, int64_t threads, int64_t block_bytes) {
  if (blocks < 1 || blocks > INT32_MAX) {
    return InvalidArgument("a grid has 1 to 2147483647 blocks, not " + std::to_string(blocks));
  }
  if (threads < 1 || threads > 1024) {
    return InvalidArgument("a block has 1 to 1024 threads, not " + std::to_string(threads));
  }
  if (block_bytes < 0 || block_bytes > kMaxBlockBytes) {
    return InvalidArgument("no block has " + std::to_string(block_bytes) +
                           " bytes of shared memory");
  }
  return Status();
}

Status CheckEntry(const std::string& entry, const std::string& source) {
  if (!IsName(entry)) {
    return InvalidArgument("'" + entry.substr(0, 60) +
                           "' is no name of a function: 1 to 200 letters, digits and _");
  }
  if (source.find(entry) != std::string::npos) return Status();
  return InvalidArgument("the source has no function '" + entry +
                         "': it is to be extern \"C\" __global__");
}

template <typename Knobs, typename Names>
bool HasNames(const Knobs& knobs, const Names& names) {
  return std::equal(knobs.begin(), knobs.end(), names.begin(), names.end(),
                    [](const auto& knob, std::string_view name) { return knob.first == name; });
}

}  // namespace

Result<Config> RawCuda::ToConfig() const {
  MLC_TRY(CheckLaunch(blocks, threads, block_bytes));
  std::string packed = MLC_TRY(PackSource(source));
  MLC_TRY(CheckEntry(entry, source));
  Config config{std::string(kRawCuda), kVersion, {}, {}};
  config.knobs = {{"blocks", blocks}, {"threads", threads}, {"block_bytes", block_bytes}};
  config.words = {{"entry", entry}, {"source", std::move(packed)}};
  const size_t size = config.ToText().size();
  if (size <= kMaxText) return config;
  return InvalidArgument("the source takes " + std::to_string(size) +
                         " characters of the log when it is compressed, and 8191 are the most: "
                         "leave out comments and what the kernel does not use");
}

Result<RawCuda> RawCuda::FromConfig(const Config& config) {
  if (!IsRawCuda(config)) return InvalidArgument(config.family + " is no kernel written by hand");
  if (config.version != kVersion) {
    return FailedPrecondition("the kernel is of " + std::string(kRawCuda) + " version " +
                              std::to_string(config.version) + ", this build takes version " +
                              std::to_string(kVersion));
  }
  if (!HasNames(config.knobs, kKnobs) || !HasNames(config.words, kWords)) {
    return InvalidArgument(
        "a kernel written by hand has blocks, threads, block_bytes, entry and source, in this "
        "order");
  }
  MLC_TRY(CheckLaunch(config["blocks"], config["threads"], config["block_bytes"]));
  RawCuda raw;
  raw.blocks = config["blocks"];
  raw.threads = static_cast<int>(config["threads"]);
  raw.block_bytes = config["block_bytes"];
  raw.entry = config.words[0].second;
  raw.source = MLC_TRY(UnpackSource(config.words[1].second));
  MLC_TRY(CheckEntry(raw.entry, raw.source));
  return raw;
}

std::string RawCudaKernel() { return std::string(kRawCuda) + "/" + std::to_string(kVersion); }

bool IsRawCuda(const Config& config) { return config.family == kRawCuda; }

bool IsRawCuda(std::string_view config) { return config.substr(0, config.find('/')) == kRawCuda; }

Status CheckFits(const RawCuda& raw, const target::Target& target) {
  if (!target.is_cuda()) {
    return InvalidArgument("a kernel in CUDA is not for " + target.ClassText());
  }
  if (raw.block_bytes <= target.block_bytes) return Status();
  return InvalidArgument("the kernel's blocks take " + std::to_string(raw.block_bytes) +
                         " bytes of shared memory; " + target.CudaArch() + " has " +
                         std::to_string(target.block_bytes));
}

std::vector<Binding> RawBindings(const graph::Workload& workload) {
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
  if (!IsRawCuda(config) || at == std::string_view::npos) return std::string(config);
  return std::string(config.substr(0, at)) + " (hand-written)";
}

}  // namespace mlc::schedule
