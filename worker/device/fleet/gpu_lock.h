// A lock by which workers of one host take turns in timing on one GPU. It uses two lock files named
// by the device's UUID: one for the holder and one for the waiting worker. After its turn, the
// holder releases the lock if another worker waits. No function blocks. Any process that can read
// the files can hold the lock. If a holder does not release it within kTimeout, the waiting worker
// continues without turns, which costs precision. Not thread-safe; the locks end with the process.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "base/status.h"

namespace mlc::worker {

class GpuLock {
 public:
  using Clock = std::chrono::steady_clock;
  // There may be several workers, and a turn may last as long as the trials of one task.
  static constexpr std::chrono::minutes kTimeout{3};

  // Opens the files in `folder`, or creates them. Files of other users are usable.
  static Result<GpuLock> Open(const std::string& folder, const std::string& uuid);
  GpuLock(GpuLock&& other) noexcept;
  GpuLock& operator=(GpuLock&&) = delete;
  ~GpuLock();

  // True if this worker holds the lock or has waited too long. Otherwise the worker counts as
  // waiting until a Take succeeds or Leave is called.
  bool Take(Clock::time_point now);
  // Call it when no kernel runs. Releases the lock if the worker's turn is over and another worker
  // waits.
  void EndOfKernel(Clock::time_point now);
  // Releases the lock and the place in the queue, because no trial waits for the device.
  void Leave();
  bool held() const { return held_; }
  bool waits() const { return waits_; }
  // A warning that names a holder that did not release the lock, once per holder; empty if there is
  // none.
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
  bool queued_ = false;   // holds the lock of the queue file
  bool ignored_ = false;  // timed out: held_ is true without the lock
  std::string warning_;
  Clock::time_point since_;
  Clock::time_point waits_since_;
  Clock::time_point not_before_;
};

}  // namespace mlc::worker
