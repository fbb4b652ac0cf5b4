#include "worker/gpu/gpu_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace mlc::worker {
namespace {

constexpr std::chrono::milliseconds kTurn(500);
// Those who wait look every 10 ms.
constexpr std::chrono::milliseconds kCourtesy(40);

// Locking needs no right to write, and a file of another user in a shared folder must not be opened
// as one that may have to be made.
Result<int> OpenShared(const std::string& path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0 && errno == ENOENT) {
      file = open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    }
    if (file >= 0) return file;
  }
  return FailedPrecondition("cannot open " + path + ": " + std::strerror(errno));
}

}  // namespace

Result<GpuLock> GpuLock::Open(const std::string& folder, const std::string& uuid) {
  const std::string path = folder + "/mlc-gpu-" + uuid;
  const int turn = MLC_TRY(OpenShared(path + ".lock"));
  const Result<int> queue = OpenShared(path + ".queue");
  if (queue.ok()) return GpuLock(turn, *queue);
  close(turn);
  return queue.status();
}

GpuLock::GpuLock(GpuLock&& other) noexcept
    : turn_(std::exchange(other.turn_, -1)),
      queue_(std::exchange(other.queue_, -1)),
      held_(other.held_),
      waits_(other.waits_),
      since_(other.since_),
      not_before_(other.not_before_) {}

GpuLock::~GpuLock() {
  for (const int file : {turn_, queue_}) {
    if (file >= 0) close(file);
  }
}

bool GpuLock::Take(Clock::time_point now) {
  if (held_) return true;
  if (now >= not_before_ && flock(turn_, LOCK_EX | LOCK_NB) == 0) {
    if (waits_) flock(queue_, LOCK_UN);
    waits_ = false;
    held_ = true;
    since_ = now;
    return true;
  }
  if (!waits_) waits_ = flock(queue_, LOCK_SH | LOCK_NB) == 0;
  return false;
}

// Who waits shares the queue's lock.
bool GpuLock::OthersWait() const {
  if (flock(queue_, LOCK_EX | LOCK_NB) != 0) return true;
  flock(queue_, LOCK_UN);
  return false;
}

void GpuLock::GiveUp() {
  if (held_) flock(turn_, LOCK_UN);
  held_ = false;
}

void GpuLock::Pause(Clock::time_point now) {
  if (!held_ || now - since_ < kTurn || !OthersWait()) return;
  GiveUp();
  not_before_ = now + kCourtesy;
}

void GpuLock::Leave() {
  GiveUp();
  if (waits_) flock(queue_, LOCK_UN);
  waits_ = false;
}

}  // namespace mlc::worker
