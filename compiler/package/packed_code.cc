#include "compiler/package/packed_code.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "compiler/package/device_kernels.h"
#include "compiler/package/elf_object.h"
#include "compiler/runtime/packed_code.h"

namespace mlc::package {

namespace {

// For 31 MB, a range of resnet50, 1 s gives 1.5 MB; level 19 takes 17 s for a fifth less.
constexpr int kLevel = 12;

// One window over everything finds what kernels have in common.
Result<std::string> Compress(const std::string& bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  const int window = std::clamp(static_cast<int>(std::bit_width(bytes.size())), 17, 27);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  size_t result = context == nullptr ? 0 : frame.size();
  for (const auto& [parameter, value] :
       {std::pair(ZSTD_c_compressionLevel, kLevel), std::pair(ZSTD_c_windowLog, window),
        std::pair(ZSTD_c_enableLongDistanceMatching, 1), std::pair(ZSTD_c_checksumFlag, 1)}) {
    if (context != nullptr && ZSTD_isError(result) == 0) {
      result = ZSTD_CCtx_setParameter(context.get(), parameter, value);
    }
  }
  if (context != nullptr && ZSTD_isError(result) == 0) {
    result = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  }
  if (context == nullptr || ZSTD_isError(result) != 0) {
    return ResourceExhausted(std::string("cannot compress the code: ") +
                             (context == nullptr ? "no memory" : ZSTD_getErrorName(result)));
  }
  frame.resize(result);
  return frame;
}

// Adds the code in the files, one a task, to the object.
Result<PackedCode> Pack(const std::vector<std::string>& paths, const std::string& symbol,
                        ElfObject& object) {
  PackedCode packed;
  packed.symbol = symbol;
  std::string bytes;
  for (const std::string& path : paths) {
    bytes.resize((bytes.size() + MLC_CODE_ALIGNMENT - 1) / MLC_CODE_ALIGNMENT * MLC_CODE_ALIGNMENT);
    packed.places.push_back(static_cast<int64_t>(bytes.size()));
    // The driver takes text up to a zero.
    bytes.append(MLC_TRY(ReadFile(path))).push_back('\0');
  }
  std::string frame = MLC_TRY(Compress(bytes));
  packed.bytes = static_cast<int64_t>(bytes.size());
  packed.frame_bytes = static_cast<int64_t>(frame.size());
  const int section = object.AddSection(symbol, std::move(frame), /*relocated=*/false);
  object.Define(symbol, section, 0, packed.frame_bytes, /*hidden=*/true);
  return packed;
}

}  // namespace

Result<DeviceCode> WriteDeviceCode(const graph::Program& program,
                                   std::span<const TaskKernel> kernels, const std::string& name,
                                   const std::string& machine, const std::string& path) {
  ElfObject object(machine);
  std::vector<std::string> binaries, texts;
  for (const TaskKernel* kernel : OwnKernels(program, kernels)) {
    binaries.push_back(kernel->object_path);
  }
  for (const TaskKernel* kernel : KernelsForNewer(program, kernels)) {
    texts.push_back(kernel->portable_path);
  }
  DeviceCode code;
  code.binaries = MLC_TRY(Pack(binaries, "mlc_" + name + "_gpu_binaries", object));
  if (std::none_of(texts.begin(), texts.end(), [](const auto& text) { return text.empty(); })) {
    code.texts = MLC_TRY(Pack(texts, "mlc_" + name + "_gpu_texts", object));
  }
  MLC_TRY(object.WriteTo(path));
  return code;
}

}  // namespace mlc::package
