#include "worker/device/fleet/gpu_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include "base/process/lock_file.h"

namespace mlc::worker {
namespace {

constexpr std::chrono::milliseconds kTurn(500);
// Waiting workers poll every 10 ms.
constexpr std::chrono::milliseconds kRetakeDelay(40);

}  // namespace

Result<GpuLock> GpuLock::Open(const std::string& folder, const std::string& uuid) {
  const std::string path = folder + "/mlc-gpu-" + uuid;
  const int turn = MLC_TRY(OpenLockFile(path + ".lock", /*make=*/true));
  const Result<int> queue = OpenLockFile(path + ".queue", /*make=*/true);
  if (queue.ok()) return GpuLock(turn, *queue, path + ".lock");
  close(turn);
  return queue.status();
}

GpuLock::GpuLock(GpuLock&& other) noexcept
    : turn_(std::exchange(other.turn_, -1)),
      queue_(std::exchange(other.queue_, -1)),
      path_(std::move(other.path_)),
      held_(other.held_),
      waits_(other.waits_),
      queued_(other.queued_),
      ignored_(other.ignored_),
      warning_(std::move(other.warning_)),
      since_(other.since_),
      waits_since_(other.waits_since_),
      not_before_(other.not_before_) {}

GpuLock::~GpuLock() {
  for (const int file : {turn_, queue_}) {
    if (file >= 0) close(file);
  }
}

bool GpuLock::Take(Clock::time_point now) {
  if (held_) return true;
  if (now >= not_before_ && flock(turn_, LOCK_EX | LOCK_NB) == 0) {
    StopWaiting();
    ignored_ = false;
    held_ = true;
    since_ = now;
    return true;
  }
  if (!std::exchange(waits_, true)) waits_since_ = now;
  if (!queued_) queued_ = flock(queue_, LOCK_SH | LOCK_NB) == 0;
  if (now < not_before_ || (!ignored_ && now - waits_since_ < kTimeout)) return false;
  if (!std::exchange(ignored_, true)) {
    warning_ = "timing on the GPU does not wait any longer for its turn: " + path_ +
               " is held by " + HolderOf(turn_);
  }
  StopWaiting();
  held_ = true;
  since_ = now;
  return true;
}

void GpuLock::StopWaiting() {
  if (queued_) flock(queue_, LOCK_UN);
  queued_ = waits_ = false;
}

// Waiting workers share the queue's lock.
bool GpuLock::IsContended() const {
  if (flock(queue_, LOCK_EX | LOCK_NB) != 0) return true;
  flock(queue_, LOCK_UN);
  return false;
}

void GpuLock::Release() {
  if (held_ && !ignored_) flock(turn_, LOCK_UN);
  held_ = false;
}

void GpuLock::EndOfKernel(Clock::time_point now) {
  if (!held_) return;
  // The next Take looks whether it is free again.
  if (ignored_) return Release();
  if (now - since_ < kTurn || !IsContended()) return;
  Release();
  not_before_ = now + kRetakeDelay;
}

void GpuLock::Leave() {
  Release();
  StopWaiting();
}

}  // namespace mlc::worker
