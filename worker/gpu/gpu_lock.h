// Workers of one host that use one GPU time on it in turns: a lock on a file named by the device's
// UUID, and one that those hold who wait for it. Whoever has it gives it up after a while if
// somebody waits. Nothing blocks. Not thread-safe; locks end with the process.
#pragma once

#include <chrono>
#include <string>

#include "compiler/base/status.h"

namespace mlc::worker {

class GpuLock {
 public:
  using Clock = std::chrono::steady_clock;

  // Makes the files in `folder` if need be; those of other users serve as well.
  static Result<GpuLock> Open(const std::string& folder, const std::string& uuid);
  GpuLock(GpuLock&& other) noexcept;
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

  // True if the lock is held now. Else it counts as waited for, until a Take succeeds or Leave.
  bool Take(Clock::time_point now);
  // No kernel runs: the lock is given up if its turn is over and somebody waits.
  void Pause(Clock::time_point now);
  // There is nothing to time.
  void Leave();
  bool held() const { return held_; }
  bool waits() const { return waits_; }

 private:
  GpuLock(int turn, int queue) : turn_(turn), queue_(queue) {}
  bool OthersWait() const;
  void GiveUp();

  int turn_;  // descriptors
  int queue_;
  bool held_ = false;
  bool waits_ = false;
  Clock::time_point since_;
  Clock::time_point not_before_;
};

}  // namespace mlc::worker
