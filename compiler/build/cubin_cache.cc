#include "compiler/build/cubin_cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

namespace mlc::build {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".cubin";
constexpr auto kStale = std::chrono::hours(1);

struct Entry {
  fs::path path;
  fs::file_time_type time;
  int64_t bytes = 0;
};

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
  return DigestOf("nvrtc " + nvrtc.version() + "\n" + nvrtc.options() + "\n" + arch + "\n" +
                  source);
}

std::string CubinCache::PathOf(const Digest& key) const {
  return folder_ + "/" + key.ToText() + kSuffix;
}

std::optional<CudaBinary> CubinCache::Find(const Digest& key) const {
  const std::string path = PathOf(key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  Result<CudaBinary> binary = DecodeCudaBinary(std::move(bytes).str());
  if (!binary.ok()) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return *std::move(binary);
}

Status CubinCache::Put(const Digest& key, const CudaBinary& binary) const {
  static std::atomic<uint64_t> count{0};
  const std::string path = PathOf(key);
  const std::string temporary =
      path + "." + std::to_string(getpid()) + "." + std::to_string(count.fetch_add(1)) + ".new";
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << Encode(binary);
    file.close();
    if (!file) {
      fs::remove(temporary, error);
      return ResourceExhausted("cannot write " + temporary + ": is the disk full?");
    }
  }
  fs::rename(temporary, path, error);
  if (error) {
    const std::string why = error.message();
    fs::remove(temporary, error);
    return FailedPrecondition("cannot replace " + path + ": " + why);
  }
  Evict();
  return {};
}

void CubinCache::Evict() const {
  std::vector<Entry> entries;
  int64_t bytes = 0;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator it(folder_, error), end; it != end; it.increment(error)) {
    Entry entry{it->path(), it->last_write_time(error), 0};
    if (error) continue;  // another process removed it
    if (entry.path.extension() == ".new" && now - entry.time > kStale) {
      fs::remove(entry.path, error);  // its writer died
    }
    if (entry.path.extension() != kSuffix) continue;
    entry.bytes = static_cast<int64_t>(it->file_size(error));
    if (error) continue;
    bytes += entry.bytes;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (size_t i = 0; i + 1 < entries.size() && bytes > max_bytes_; ++i) {
    if (fs::remove(entries[i].path, error)) bytes -= entries[i].bytes;
  }
}

Result<CudaBinary> CompileCached(const CubinCache& cache, Nvrtc& nvrtc, const std::string& source,
                                 const std::string& arch) {
  const Digest key = CubinCache::KeyOf(nvrtc, source, arch);
  if (std::optional<CudaBinary> found = cache.Find(key)) return *std::move(found);
  CudaBinary binary = MLC_TRY(nvrtc.Compile(source, arch));
  // The next caller compiles again; nothing else depends on the file.
  const Status kept = cache.Put(key, binary);
  static_cast<void>(kept);
  return binary;
}

}  // namespace mlc::build
