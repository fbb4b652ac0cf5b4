#include "compiler/build/cubin_cache.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <vector>

namespace mlc::build {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".cubin";
constexpr const char* kUnfinished = ".new";
constexpr auto kStale = std::chrono::hours(1);

struct Entry {
  fs::path path;
  fs::file_time_type time;
  int64_t bytes = 0;
};

// What lies in the folder now; others may change it meanwhile.
std::vector<Entry> EntriesOf(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end; it.increment(error)) {
    Entry entry{it->path(), it->last_write_time(error), 0};
    if (!error) entry.bytes = static_cast<int64_t>(it->file_size(error));
    if (!error) entries.push_back(std::move(entry));  // else another process removed it
  }
  return entries;
}

}  // namespace

Result<CubinCache> CubinCache::Open(const std::string& folder, int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error)) {
    return FailedPrecondition("cannot make the folder " + folder +
                              " for compiled device code: " + error.message());
  }
  return CubinCache(folder, max_bytes);
}

Digest CubinCache::KeyOf(const Nvrtc& nvrtc, const std::string& source, const std::string& arch) {
  std::error_code error;
  const uintmax_t size = fs::file_size(nvrtc.path(), error);
  return DigestOf("nvrtc " + nvrtc.version() + " " + std::to_string(error ? 0 : size) + "\n" +
                  nvrtc.options() + "\n" + arch + "\n" + source);
}

std::string CubinCache::PathOf(const Digest& key) const {
  return folder_ + "/" + key.ToText() + kSuffix;
}

std::optional<CudaBinary> CubinCache::Find(const Digest& key) const {
  const std::string path = PathOf(key);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  const std::string bytes = std::move(text).str();
  const std::string name = key.ToText();
  if (!bytes.starts_with(name)) return std::nullopt;
  Result<CudaBinary> binary = DecodeCudaBinary(std::string_view(bytes).substr(name.size()));
  if (!binary.ok()) return std::nullopt;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return *std::move(binary);
}

Status CubinCache::Put(const Digest& key, const CudaBinary& binary) const {
  const std::string path = PathOf(key);
  const std::string temporary = path + "." + std::to_string(getpid()) + "." +
                                std::to_string(std::random_device{}()) + kUnfinished;
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    if (!file) return FailedPrecondition("cannot write into the folder " + folder_);
    file << key.ToText() << Encode(binary);
    file.close();
    if (!file) {
      fs::remove(temporary, error);
      return ResourceExhausted("cannot write " + temporary + ": is the disk full?");
    }
  }
  fs::rename(temporary, path, error);
  if (!error) return {};
  const std::string why = error.message();
  fs::remove(temporary, error);
  return FailedPrecondition("cannot replace " + path + ": " + why);
}

void CubinCache::Trim() const {
  std::vector<Entry> entries = EntriesOf(folder_);
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  std::erase_if(entries, [&](const Entry& entry) {
    if (entry.path.extension() == kUnfinished && now - entry.time > kStale) {
      fs::remove(entry.path, ignored);  // its writer died
    }
    return entry.path.extension() != kSuffix;
  });
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  for (size_t i = 0; i + 1 < entries.size() && bytes > max_bytes_; ++i) {
    std::error_code error;
    fs::remove(entries[i].path, error);
    if (!error) bytes -= entries[i].bytes;  // by this process or another
  }
}

CubinCache::Size CubinCache::Measure() const {
  Size size;
  for (const Entry& entry : EntriesOf(folder_)) {
    if (entry.path.extension() != kSuffix) continue;
    ++size.files;
    size.bytes += entry.bytes;
  }
  return size;
}

std::string CubinFolder(const std::string& flag, const std::string& use,
                        const std::function<const char*(const char*)>& environment) {
  if (flag == "off") return {};
  if (!flag.empty()) return flag + "/" + use;
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::string(text != nullptr && text[0] == '/' ? text : "");
  };
  // systemd names several folders with colons between them.
  const std::string service = value("CACHE_DIRECTORY");
  if (!service.empty()) return service.substr(0, service.find(':')) + "/cubins/" + use;
  std::string caches = value("XDG_CACHE_HOME");
  if (caches.empty() && !value("HOME").empty()) caches = value("HOME") + "/.cache";
  return caches.empty() ? "" : caches + "/mlc-tune/cubins/" + use;
}

}  // namespace mlc::build
