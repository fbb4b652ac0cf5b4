#include "tests/bench/search/kernel_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/rng.h"

namespace mlc::bench {
namespace {

using nlohmann::json;

Result<std::string> TextOf(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) return NotFound("cannot read '" + path.string() + "'");
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

// The file that `member` names takes the place of the name.
Status Inline(json& kernel, const char* member, const char* text,
              const std::filesystem::path& folder) {
  if (!kernel.contains(member)) return Status();
  kernel[text] = MLC_TRY(TextOf(folder / kernel.value(member, "")));
  kernel.erase(member);
  return Status();
}

}  // namespace

Result<KernelOfFile> OpenKernelFile(const std::string& path) {
  json root = json::parse(MLC_TRY(TextOf(path)), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("KernelSpecification")) {
    return InvalidArgument("'" + path + "' specifies no kernel");
  }
  json& kernel = root["KernelSpecification"];
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  MLC_TRY(Inline(kernel, "KernelFile", "Source", folder));
  MLC_TRY(Inline(kernel, "WorkloadFile", "Workload", folder));
  return KernelOfFile{
      MLC_TRY(schedule::TunedKernel::Open(MLC_TRY(schedule::KernelSpec::Parse(root.dump())))),
      kernel.value("Workload", "")};
}

std::vector<std::string> AllConfigs(const schedule::TunedKernel& kernel) {
  std::vector<std::string> texts;
  std::vector<uint16_t> point(kernel.radix().size(), 0);
  for (bool more = true; more;) {
    if (kernel.spec().Allows(kernel.ValuesAt(point))) texts.push_back(kernel.At(point).ToText());
    more = false;
    for (size_t k = point.size(); k-- > 0 && !more;) {
      more = ++point[k] < kernel.radix()[k];
      if (!more) point[k] = 0;
    }
  }
  Rng rng(1);
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    std::swap(texts[i], texts[i + rng.Below(texts.size() - i)]);
  }
  return texts;
}

}  // namespace mlc::bench
