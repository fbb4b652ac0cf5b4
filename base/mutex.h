// A mutex, a lock of it and a condition variable that Clang's thread-safety analysis understands:
// `clang++ -Wthread-safety` rejects code that touches what a mutex guards without holding it. The
// attributes are macros because gcc, which knows none of them, turns unknown attributes into
// errors. tests/layering/thread_safety.py runs the analysis. The order of locks
// (MLC_ACQUIRED_BEFORE) is checked, too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define MLC_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define MLC_THREAD_ATTRIBUTE(x)
#endif

// A member that may only be touched while the mutex is held.
#define MLC_GUARDED_BY(mutex) MLC_THREAD_ATTRIBUTE(guarded_by(mutex))
// A function that is called with the mutex held, or without it.
#define MLC_REQUIRES(...) MLC_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MLC_EXCLUDES(...) MLC_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// A mutex that is taken before the other one, if a thread holds both.
#define MLC_ACQUIRED_BEFORE(...) MLC_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))

namespace mlc {

class MLC_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() MLC_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void Unlock() MLC_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;

  std::mutex mutex_;
};

// Holds the mutex while it lives.
class MLC_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MLC_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() MLC_THREAD_ATTRIBUTE(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. A wait releases the mutex and may return spuriously: test the condition in
// a loop in the caller, where the analysis sees the guarded members that it reads.
class CondVar {
 public:
  void NotifyOne() { wake_.notify_one(); }
  void NotifyAll() { wake_.notify_all(); }

  void Wait(Mutex& mutex) MLC_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    wake_.wait(lock);
    (void)lock.release();
  }
  // False if the deadline has passed.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline) MLC_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool woken = wake_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    (void)lock.release();
    return woken;
  }
  bool WaitFor(Mutex& mutex, std::chrono::milliseconds longest) MLC_REQUIRES(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + longest);
  }

 private:
  std::condition_variable wake_;
};

}  // namespace mlc
