#include "db/untuned/untuned_list.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

namespace mlc::db {
namespace {

using Json = nlohmann::ordered_json;
using Key = std::pair<Digest, std::string>;
using Entries = std::map<Key, UntunedWorkload>;

constexpr int kVersion = 1;
constexpr int kLockTries = 50;
constexpr std::chrono::milliseconds kLockWait(10);
// Texts are some KiB long: what is longer is no such file.
constexpr int64_t kMostBytes = int64_t{256} << 20;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Status Failed(const std::string& what, const std::string& path) {
  return Status(
      errno == EACCES || errno == EROFS || errno == EPERM || errno == ENOENT || errno == ELOOP
          ? StatusCode::kPermissionDenied
          : StatusCode::kDataLoss,
      "cannot " + what + " '" + path + "': " + std::strerror(errno));
}

Status TakeTurn(int fd, int operation, const std::string& path) {
  for (int tries = 0; flock(fd, operation | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return Failed("lock", path);
    if (tries == kLockTries) {
      return Status(StatusCode::kAborted, "others hold '" + path + "': try again");
    }
    std::this_thread::sleep_for(kLockWait);
  }
  return Status();
}

// None for what is no entry of this version.
std::optional<UntunedWorkload> ParseLine(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  // The library throws for a field of the wrong type.
  try {
    if (json.at("v").get<int>() != kVersion) return std::nullopt;
    UntunedWorkload entry;
    entry.text = json.at("text").get<std::string>();
    entry.summary = json.at("summary").get<std::string>();
    entry.target = json.at("target").get<std::string>();
    entry.builds = json.at("builds").get<int64_t>();
    entry.first_us = json.at("first_us").get<int64_t>();
    entry.last_us = json.at("last_us").get<int64_t>();
    if (entry.text.empty() || entry.builds < 1) return std::nullopt;
    return entry;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::string LineOf(const UntunedWorkload& entry) {
  const Json json = {
      {"v", kVersion},          {"target", entry.target},     {"summary", entry.summary},
      {"builds", entry.builds}, {"first_us", entry.first_us}, {"last_us", entry.last_us},
      {"text", entry.text}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Entries> ReadEntries(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return Failed("read", path);
  if (!S_ISREG(info.st_mode) || info.st_size > kMostBytes) {
    return DataLoss("'" + path + "' is no list of untuned workloads: delete it");
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t n = pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("read", path);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  Entries entries;
  for (size_t begin = 0; begin < have;) {
    const size_t end = std::min(text.find('\n', begin), have);
    if (auto entry = ParseLine(text.substr(begin, end - begin))) {
      const Key key = entry->key();
      entries.insert_or_assign(key, *std::move(entry));
    }
    begin = end + 1;
  }
  return entries;
}

void DropOldest(Entries& entries) {
  if (entries.size() <= kMostUntuned) return;
  std::vector<std::pair<int64_t, Key>> order;
  for (const auto& [key, entry] : entries) order.emplace_back(entry.last_us, key);
  std::sort(order.begin(), order.end());
  order.resize(order.size() - kMostUntuned);
  for (const auto& [last_us, key] : order) entries.erase(key);
}

// In place: others hold the file open and wait for its lock. What a crash leaves half written is
// left out by the next reader.
Status WriteEntries(int fd, const Entries& entries, const std::string& path) {
  std::string text;
  for (const auto& [key, entry] : entries) text += LineOf(entry);
  if (ftruncate(fd, 0) != 0) return Failed("write", path);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = pwrite(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Failed("write", path);
    done += static_cast<size_t>(n);
  }
  return Status();
}

Status Change(const std::string& log, int flags, const std::function<void(Entries&)>& change) {
  const std::string path = UntunedPath(log);
  const File file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0666));
  if (file.fd() < 0) return Failed("write", path);
  MLC_TRY(TakeTurn(file.fd(), LOCK_EX, path));
  Entries entries = MLC_TRY(ReadEntries(file.fd(), path));
  change(entries);
  DropOldest(entries);
  return WriteEntries(file.fd(), entries, path);
}

}  // namespace

std::pair<Digest, std::string> UntunedWorkload::key() const {
  return {mlc::DigestOf(std::string_view(text)), target};
}

std::string UntunedPath(const std::string& log) { return log + ".untuned"; }

Result<std::vector<UntunedWorkload>> ReadUntuned(const std::string& log) {
  const std::string path = UntunedPath(log);
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.fd() < 0) {
    if (errno == ENOENT) return std::vector<UntunedWorkload>();
    return Failed("read", path);
  }
  MLC_TRY(TakeTurn(file.fd(), LOCK_SH, path));
  std::vector<UntunedWorkload> list;
  for (auto& [key, entry] : MLC_TRY(ReadEntries(file.fd(), path))) {
    list.push_back(std::move(entry));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const UntunedWorkload& a, const UntunedWorkload& b) {
                     return std::tie(a.builds, a.last_us) > std::tie(b.builds, b.last_us);
                   });
  return list;
}

Status NoteUntuned(const std::string& log, std::span<const UntunedWorkload> wanted) {
  if (wanted.empty()) return Status();
  return Change(log, O_CREAT, [&](Entries& entries) {
    for (const UntunedWorkload& one : wanted) {
      const auto [listed, is_new] = entries.try_emplace(one.key(), one);
      if (is_new) continue;
      listed->second.builds += one.builds;
      listed->second.last_us = std::max(listed->second.last_us, one.last_us);
    }
  });
}

Status ForgetUntuned(const std::string& log, std::span<const UntunedWorkload> tuned) {
  if (tuned.empty()) return Status();
  return Change(log, 0, [&](Entries& entries) {
    for (const UntunedWorkload& one : tuned) entries.erase(one.key());
  });
}

}  // namespace mlc::db
