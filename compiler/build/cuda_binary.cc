#include "compiler/build/cuda_binary.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/digest.h"

namespace mlc::build {

namespace {

constexpr std::string_view kMagic = "mlc cubin v1\n";
constexpr size_t kMaxBytes = size_t{1} << 30;

// The number that ends right before `what`, as in "24 bytes spill stores".
bool NumberBefore(std::string_view line, std::string_view what, int64_t* value) {
  const size_t at = line.find(what);
  if (at == std::string_view::npos) return false;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  if (begin == at) return false;
  std::from_chars(line.data() + begin, line.data() + at, *value);
  return true;
}

// The word between the first two quotes.
std::string Quoted(std::string_view line) {
  const size_t begin = line.find('\'');
  if (begin == std::string_view::npos) return {};
  const size_t end = line.find('\'', begin + 1);
  if (end == std::string_view::npos) return {};
  return std::string(line.substr(begin + 1, end - begin - 1));
}

// C7508 and C7510 to C7519.
bool IsPerformanceWarning(std::string_view line) {
  const size_t at = line.find("(C75");
  if (at == std::string_view::npos || line.size() < at + 7 || line[at + 6] != ')') return false;
  const std::string_view code = line.substr(at + 4, 2);
  return code == "08" || (code[0] == '1' && code[1] >= '0' && code[1] <= '9');
}

void PutNumber(std::string* out, uint64_t value) {
  char bytes[8];
  std::memcpy(bytes, &value, sizeof(bytes));
  out->append(bytes, sizeof(bytes));
}
void PutText(std::string* out, std::string_view text) {
  PutNumber(out, text.size());
  out->append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Number() {
    uint64_t value = 0;
    if (bytes_.size() < sizeof(value)) {
      failed_ = true;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  std::string Text() {
    const uint64_t size = Number();
    if (size > bytes_.size()) failed_ = true;
    if (failed_) return {};
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  bool AtEnd() const { return !failed_ && bytes_.empty(); }
  bool failed() const { return failed_; }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace

void ReadCompilerLog(CudaBinary* binary) {
  binary->resources.clear();
  binary->performance_warnings.clear();
  CudaResources* current = nullptr;
  for (std::string_view rest = binary->log; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (IsPerformanceWarning(line)) binary->performance_warnings.emplace_back(line);
    if (line.find("Compiling entry function") != std::string_view::npos) {
      current = &binary->resources.emplace_back();
      current->function = Quoted(line);
    }
    if (current == nullptr) continue;
    NumberBefore(line, " bytes stack frame", &current->stack_bytes);
    NumberBefore(line, " bytes spill stores", &current->spill_store_bytes);
    NumberBefore(line, " bytes spill loads", &current->spill_load_bytes);
    NumberBefore(line, " bytes smem", &current->static_block_bytes);
    int64_t registers = 0;
    if (NumberBefore(line, " registers", &registers)) {
      current->registers = static_cast<int>(registers);
    }
  }
}

Status CheckEntry(const CudaBinary& binary, const std::string& entry) {
  std::string names;
  for (const CudaResources& resources : binary.resources) {
    if (resources.function == entry) return Status();
    names += (names.empty() ? "" : ", ") + resources.function;
  }
  return InvalidArgument("the source has no function '" + entry +
                         "' that is extern \"C\" __global__; " +
                         (names.empty() ? "it has none at all" : "it has " + names));
}

std::string Encode(const CudaBinary& binary) {
  std::string body;
  PutText(&body, binary.image);
  PutText(&body, binary.log);
  const Digest digest = DigestOf(body);
  std::string bytes(kMagic);
  bytes += digest.ToText();
  return bytes + body;
}

Result<CudaBinary> DecodeCudaBinary(std::string_view bytes) {
  const auto bad = [](const char* why) { return DataLoss(std::string("no device code: ") + why); };
  if (bytes.size() > kMaxBytes) return bad("too large");
  if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + 32) return bad("another format");
  const std::string_view digest = bytes.substr(kMagic.size(), 32);
  const std::string_view body = bytes.substr(kMagic.size() + 32);
  if (DigestOf(body).ToText() != digest) return bad("its checksum differs");
  Reader reader(body);
  CudaBinary binary;
  binary.image = reader.Text();
  binary.log = reader.Text();
  if (!reader.AtEnd()) return bad("its parts do not fill it");
  // What the log says is read again: a later release may read more.
  ReadCompilerLog(&binary);
  return binary;
}

}  // namespace mlc::build
