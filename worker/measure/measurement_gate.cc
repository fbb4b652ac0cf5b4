#include "worker/measure/measurement_gate.h"

#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "base/process/lock_file.h"

namespace mlc::worker {
namespace {

constexpr std::chrono::milliseconds kPoll(2);

}  // namespace

MeasurementGate::MeasurementGate(const GateFile& file, Mode mode,
                                 std::chrono::milliseconds timeout) {
  if (file.path.empty()) return;
  const Result<int> opened = OpenLockFile(file.path, file.make);
  if (!opened.ok()) return;
  fd_ = *opened;
  const int lock = (mode == Mode::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (flock(fd_, lock) != 0) {
    if (std::chrono::steady_clock::now() > end) {
      held_by_ = HolderOf(fd_);
      return;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

MeasurementGate::~MeasurementGate() {
  if (fd_ < 0) return;
  // Explicitly: children that were forked meanwhile hold the same lock.
  (void)flock(fd_, LOCK_UN);
  close(fd_);
}

}  // namespace mlc::worker
