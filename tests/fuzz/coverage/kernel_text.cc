// Kernel IR as text: it is refused, or verifies and prints to a fixed point; kernels without loops
// of many steps are interpreted, which ends or faults.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "compiler/ir/interpret/interpret.h"

namespace mlc {
namespace {

// A bound that is computed may be of any size; the loops of phases are constant.
bool IsQuick(const ir::Kernel& kernel, std::string_view text) {
  constexpr int64_t kMostElements = 4096;
  for (const ir::Buffer& buffer : kernel.buffers) {
    if (buffer.size > kMostElements) return false;
  }
  // Inner loops are indented further than those of phases; and numbers of four digits are too many.
  if (text.find("    for ") != std::string_view::npos) return false;
  if (text.find("unrolled") != std::string_view::npos) return false;
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 3) return false;
  }
  return kernel.phases.size() <= 4;
}

void Run(const ir::Kernel& kernel) {
  std::vector<std::vector<std::byte>> storage;
  for (int i = 0; i < kernel.NumParams(); ++i) {
    storage.emplace_back(static_cast<size_t>(kernel.buffers[static_cast<size_t>(i)].size) * 8);
  }
  std::vector<std::span<std::byte>> params(storage.begin(), storage.end());
  (void)ir::Interpret(kernel, params);
}

}  // namespace
}  // namespace mlc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mlc::ir::Kernel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const mlc::Result<Kernel> kernel = Kernel::Parse(text);
  if (!kernel.ok()) {
    MLC_CHECK(!kernel.status().message().empty());
    return 0;
  }
  MLC_CHECK(kernel->Verify().ok()) << text;
  const std::string printed = kernel->ToText();
  const mlc::Result<Kernel> again = Kernel::Parse(printed);
  MLC_CHECK(again.ok()) << again.status().message() << "\n" << printed;
  MLC_CHECK(again->ToText() == printed) << printed;
  if (mlc::IsQuick(*kernel, printed)) mlc::Run(*kernel);
  return 0;
}
