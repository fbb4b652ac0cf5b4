#include "base/process/memory_failure.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>

namespace mlc::build {
namespace {

constexpr std::string_view kLastWords = "out of memory\n";

constexpr std::array<std::string_view, 4> kBeginnings = {
    "out of memory", "LLVM ERROR: out of memory", "ptxas fatal   : Memory allocation",
    "terminate called after throwing an instance of 'std::bad_alloc'"};
// Of NVRTC, behind a place in the source if it was at one; "Catastrophic" where it was not.
constexpr std::string_view kEnd = "atastrophic error: out of memory";

bool LineReportsOutOfMemory(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  const auto begins = [line](std::string_view words) { return line.starts_with(words); };
  if (std::any_of(kBeginnings.begin(), kBeginnings.end(), begins)) return true;
  // "kernel.cu(1): catastrophic error: #error directive: ..." ends in what its author wrote.
  return line.ends_with(kEnd) && line.find('#') == std::string_view::npos;
}

[[noreturn]] void End() {
  (void)!write(STDERR_FILENO, kLastWords.data(), kLastWords.size());
  _exit(kOutOfMemoryCode);
}

}  // namespace

void EndWhenOutOfMemory() { std::set_new_handler(End); }

bool ReportsOutOfMemory(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (LineReportsOutOfMemory(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace mlc::build
