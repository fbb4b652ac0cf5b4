#include "base/tls/tls_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace mlc::transport {
namespace {

constexpr std::chrono::milliseconds kLook(500);

bool Same(const TlsTexts& one, const TlsTexts& other) {
  return one.pair == other.pair && one.authority == other.authority;
}

// Makes `fd` a new memory file with this text: who opens its path sees the old one or the new one.
Status Swap(int& fd, const std::string& text) {
  const int fresh = memfd_create("mlc-tls", MFD_CLOEXEC);
  bool good = fresh >= 0;
  size_t done = 0;
  while (good && done < text.size()) {
    const ssize_t n = write(fresh, text.data() + done, text.size() - done);
    good = n > 0;
    done += good ? static_cast<size_t>(n) : 0;
  }
  if (good && fd >= 0) good = dup3(fresh, fd, O_CLOEXEC) == fd;
  const int error = errno;
  if (!good || fd >= 0) {
    if (fresh >= 0) close(fresh);
  } else {
    fd = fresh;
  }
  return good ? Status()
              : ResourceExhausted(std::string("cannot create a memory file for certificates: ") +
                                  strerror(error));
}

std::string PathOf(int fd) { return fd < 0 ? "" : "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::Open(TlsPaths paths, Heard heard) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths), std::move(heard)));
  {
    const TlsTexts texts = MLC_TRY(ReadTls(files->paths_));
    std::lock_guard lock(files->mutex_);
    MLC_TRY(files->Replace(texts));
  }
  files->thread_ = std::thread([raw = files.get()] { raw->Follow(); });
  return files;
}

TlsFiles::~TlsFiles() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (pair_ >= 0) close(pair_);
  if (authority_ >= 0) close(authority_);
}

std::string TlsFiles::pair_path() const { return PathOf(pair_); }
std::string TlsFiles::authority_path() const { return PathOf(authority_); }

std::string TlsFiles::description() const {
  std::lock_guard lock(mutex_);
  return texts_.description;
}

int64_t TlsFiles::expires_s() const {
  std::lock_guard lock(mutex_);
  return texts_.expires_s;
}

// REQUIRES mutex_.
Status TlsFiles::Replace(const TlsTexts& texts) {
  if (texts.pair != texts_.pair) MLC_TRY(Swap(pair_, texts.pair));
  if (texts.authority != texts_.authority) MLC_TRY(Swap(authority_, texts.authority));
  texts_ = texts;
  return Status();
}

// With `settled`, takes new files only if two looks have found them the same: a part of a chain, or
// of a list of authorities, looks sound, too.
Status TlsFiles::Take(bool settled) {
  const Result<TlsTexts> texts = ReadTls(paths_);
  Status status = texts.status();
  bool told = !settled || !status.ok();
  {
    std::lock_guard lock(mutex_);
    if (texts.ok()) {
      const bool waits = settled && !Same(*texts, texts_) && !Same(*texts, seen_);
      seen_ = *texts;
      if (waits) return Status();
      told = told || !sound_ || !Same(*texts, texts_);
      status = Replace(*texts);
    }
    sound_ = status.ok();
  }
  if (told && heard_) heard_(status, description());
  return status;
}

Status TlsFiles::Reload() { return Take(false); }

// The files are read at each look: no time, mode or owner of theirs can hide a change.
void TlsFiles::Follow() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLook, [this] { return stopping_; })) {
    lock.unlock();
    (void)Take(true);
    lock.lock();
  }
}

}  // namespace mlc::transport
