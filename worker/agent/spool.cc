#include "worker/agent/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mlc::worker {
namespace {

constexpr std::string_view kMagic = "mlc-spool 1\n";
constexpr uint8_t kResult = 1;
constexpr uint8_t kAcknowledged = 2;
constexpr size_t kDigestBytes = 16;
constexpr size_t kHeadBytes = sizeof(uint32_t) + kDigestBytes;
constexpr uint32_t kMaxEntry = 1 << 20;
// Below this, history is not worth a rewrite.
constexpr int64_t kSmallFile = 1 << 20;

Status Failure(const std::string& what) {
  const int error = errno;
  const std::string text = what + ": " + std::strerror(error);
  if (error == EACCES || error == EPERM || error == EROFS)
    return Status(StatusCode::kPermissionDenied, text);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) return ResourceExhausted(text);
  return Unavailable(text);
}

std::string Entry(const std::string& payload) {
  ByteWriter head;
  head.Put(static_cast<uint32_t>(payload.size()));
  Put(head, DigestOf(std::string_view(payload)));
  return head.Take() + payload;
}

std::string ResultEntry(const TrialResult& result) {
  ByteWriter out;
  out.Put(kResult);
  Put(out, result.uid);
  Put(out, result.measurement);
  return Entry(out.Take());
}

std::string ForgottenEntry(const Digest& uid) {
  ByteWriter out;
  out.Put(kAcknowledged);
  Put(out, uid);
  return Entry(out.Take());
}

// The whole first entry's size, with its head; 0 if there is none.
size_t WholeEntry(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return 0;
  ByteReader head(bytes);
  const auto size = head.Get<uint32_t>();
  const Digest digest = GetDigest(head);
  if (size > kMaxEntry || bytes.size() - kHeadBytes < size) return 0;
  return DigestOf(bytes.substr(kHeadBytes, size)) == digest ? kHeadBytes + size : 0;
}

Status WriteAt(int fd, std::string_view bytes, int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Failure("cannot write " + path);
    bytes.remove_prefix(static_cast<size_t>(wrote));
    offset += wrote;
  }
  return Status();
}

Result<std::string> ReadAll(int fd, const std::string& path) {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t size = pread(fd, block, sizeof(block), static_cast<off_t>(bytes.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failure("cannot read " + path);
    if (size == 0) return bytes;
    bytes.append(block, static_cast<size_t>(size));
  }
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::Open(const std::string& path, int64_t most_bytes) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Failure("cannot open " + path);
  std::unique_ptr<Spool> spool(new Spool(path, fd, most_bytes));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Status(StatusCode::kAborted,
                  path +
                      " is in use: another worker of this name runs; give each its own --name "
                      "or --state");
  }
  MLC_TRY(spool->Load());
  return spool;
}

Spool::~Spool() { close(fd_); }

Status Spool::Load() {
  const std::string bytes = MLC_TRY(ReadAll(fd_, path_));
  const std::string_view start = std::string_view(bytes).substr(0, kMagic.size());
  if (start != kMagic.substr(0, start.size())) {
    return DataLoss(path_ + " is not a spool of this version: move it away");
  }
  std::string_view rest = std::string_view(bytes).substr(start.size());
  if (start.size() < kMagic.size()) rest = {};
  while (const size_t size = WholeEntry(rest)) {
    const std::string_view entry = rest.substr(0, size);
    ByteReader in(entry.substr(kHeadBytes));
    const auto kind = in.Get<uint8_t>();
    const Digest uid = GetDigest(in);
    if (kind == kAcknowledged) live_.erase(uid);
    if (kind == kResult) live_[uid] = std::string(entry);
    rest.remove_prefix(size);
  }
  cut_bytes_ = static_cast<int64_t>(rest.size());
  live_bytes_ = static_cast<int64_t>(kMagic.size());
  for (const auto& [uid, entry] : live_) live_bytes_ += static_cast<int64_t>(entry.size());
  file_bytes_ = static_cast<int64_t>(bytes.size());
  // What is not needed goes with the next rewrite; a torn tail has to go now.
  return cut_bytes_ > 0 || start.size() < kMagic.size() ? Rewrite() : Status();
}

// A new file in place of the old one; a crash leaves one of them.
Status Spool::Rewrite() {
  const std::string fresh_path = path_ + ".new";
  const int fd = open(fresh_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Failure("cannot open " + fresh_path);
  std::string bytes(kMagic);
  for (const auto& [uid, entry] : live_) bytes += entry;
  Status status = WriteAt(fd, bytes, 0, fresh_path);
  if (status.ok() && flock(fd, LOCK_EX | LOCK_NB) != 0)
    status = Failure("cannot lock " + fresh_path);
  if (status.ok() && fsync(fd) != 0) status = Failure("cannot write " + fresh_path);
  if (status.ok() && rename(fresh_path.c_str(), path_.c_str()) != 0) {
    status = Failure("cannot replace " + path_);
  }
  if (!status.ok()) {
    close(fd);
    return status;
  }
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd >= 0) {
    (void)fsync(folder_fd);
    close(folder_fd);
  }
  close(fd_);
  fd_ = fd;
  file_bytes_ = static_cast<int64_t>(bytes.size());
  live_bytes_ = file_bytes_;
  unwritten_.clear();
  has_results_ = false;
  return Status();
}

std::vector<TrialResult> Spool::results() const {
  std::vector<TrialResult> results;
  for (const auto& [uid, entry] : live_) {
    ByteReader in(std::string_view(entry).substr(kHeadBytes));
    (void)in.Get<uint8_t>();
    (void)GetDigest(in);
    results.push_back({uid, GetMeasurement(in)});
  }
  return results;
}

void Spool::Add(const TrialResult& result) {
  std::string entry = ResultEntry(result);
  const auto size = static_cast<int64_t>(entry.size());
  if (live_.contains(result.uid) || live_bytes_ + size > most_bytes_) return;
  live_bytes_ += size;
  unwritten_ += entry;
  live_[result.uid] = std::move(entry);
  has_results_ = true;
}

void Spool::Forget(const Digest& uid) {
  const auto found = live_.find(uid);
  if (found == live_.end()) return;
  live_bytes_ -= static_cast<int64_t>(found->second.size());
  live_.erase(found);
  unwritten_ += ForgottenEntry(uid);
}

Status Spool::Sync() {
  if (unwritten_.empty()) return Status();
  const int64_t after = file_bytes_ + static_cast<int64_t>(unwritten_.size());
  if (after > most_bytes_ || (after > kSmallFile && after > 2 * live_bytes_)) return Rewrite();
  // Written at its place again if it fails halfway.
  MLC_TRY(WriteAt(fd_, unwritten_, file_bytes_, path_));
  if (has_results_ && fdatasync(fd_) != 0) return Failure("cannot write " + path_);
  file_bytes_ = after;
  unwritten_.clear();
  has_results_ = false;
  return Status();
}

}  // namespace mlc::worker
