// Workers of one host that use one GPU time on it in turns: a lock on a file named by the device's
// UUID, and one that those hold who wait for it. The holder releases it after its turn if another
// worker waits. Nothing blocks. Any process that can read the files can hold the lock: a holder
// that does not release it is waited for no longer than kTimeout, then timing goes on without
// turns, which costs precision. Not thread-safe; locks end with the process.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "base/status.h"

namespace mlc::worker {

class GpuLock {
 public:
  using Clock = std::chrono::steady_clock;
  // Several workers have several turns, each of which may last as long as the trials of one task.
  static constexpr std::chrono::minutes kTimeout{3};

  // Makes the files in `folder` if need be; those of other users serve as well.
  static Result<GpuLock> Open(const std::string& folder, const std::string& uuid);
  GpuLock(GpuLock&& other) noexcept;
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

  // True if the lock is held now, or was waited for for too long. Else it counts as waited for,
  // until a Take succeeds or Leave.
  bool Take(Clock::time_point now);
  // No kernel runs: releases the lock if its turn is over and another worker waits.
  void EndOfKernel(Clock::time_point now);
  // No trial waits for the device: releases the lock and the place in the queue.
  void Leave();
  bool held() const { return held_; }
  bool waits() const { return waits_; }
  // The holder that was waited for for too long, once for each; empty: none.
  std::string TakeWarning() { return std::exchange(warning_, {}); }

 private:
  GpuLock(int turn, int queue, std::string path)
      : turn_(turn), queue_(queue), path_(std::move(path)) {}
  bool IsContended() const;
  void Release();
  void StopWaiting();

  int turn_;  // descriptors
  int queue_;
  std::string path_;
  bool held_ = false;
  bool waits_ = false;
  bool queued_ = false;   // with the other file's lock
  bool ignored_ = false;  // the lock: held_ says that this worker may go on, no more
  std::string warning_;
  Clock::time_point since_;
  Clock::time_point waits_since_;
  Clock::time_point not_before_;
};

}  // namespace mlc::worker
