#include "transport/tls_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "transport/file_stamp.h"

namespace mlc::transport {
namespace {

constexpr std::chrono::milliseconds kLook(1000);

std::string StampOfAll(const TlsPaths& paths) {
  return StampOf(paths.certificate) + "," + StampOf(paths.key) + "," + StampOf(paths.authority);
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
              : ResourceExhausted(std::string("no memory file for certificates: ") +
                                  strerror(error));
}

std::string PathOf(int fd) { return fd < 0 ? "" : "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::Open(TlsPaths paths, Heard heard) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths), std::move(heard)));
  MLC_TRY(files->Replace(MLC_TRY(ReadTls(files->paths_))));
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

Status TlsFiles::Replace(const TlsTexts& texts) {
  std::lock_guard lock(mutex_);
  if (texts.pair != texts_.pair) MLC_TRY(Swap(pair_, texts.pair));
  if (texts.authority != texts_.authority) MLC_TRY(Swap(authority_, texts.authority));
  texts_ = texts;
  return Status();
}

Status TlsFiles::Reload() {
  Result<TlsTexts> texts = ReadTls(paths_);
  const Status status = texts.ok() ? Replace(*texts) : texts.status();
  if (heard_) heard_(status, description());
  return status;
}

void TlsFiles::Follow() {
  std::string seen = StampOfAll(paths_);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLook, [this] { return stopping_; })) {
    lock.unlock();
    const std::string now = StampOfAll(paths_);
    // Files that do not fit together yet are looked at again when they change once more.
    if (now != seen) (void)Reload();
    seen = now;
    lock.lock();
  }
}

}  // namespace mlc::transport
