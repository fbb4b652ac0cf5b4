// Mistakes that the thread-safety analysis has to reject, each marked; thread_safety.py compiles
// this file, and no program has it.
#include "base/mutex.h"

namespace mlc {

class Account {
 public:
  void Add(int amount) MLC_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    balance_ += amount;
    changed_.NotifyAll();
  }
  void AwaitSome() {
    const MutexLock lock(mutex_);
    while (balance_ == 0) changed_.Wait(mutex_);
  }
  int Unlocked() const {
    return balance_;  // MISTAKE: read without the mutex
  }
  void CallsUnlocked() {
    Reset();  // MISTAKE: requires the mutex
  }
  void LocksTwice() {
    const MutexLock lock(mutex_);
    Add(1);  // MISTAKE: takes the mutex itself
  }
  void LocksInTheWrongOrder() {
    const MutexLock lock(mutex_);
    const MutexLock late(first_);  // MISTAKE: belongs before the other one
  }
  void WaitsUnlocked() {
    changed_.Wait(mutex_);  // MISTAKE: waits with the mutex
  }
  void KeepsIt() {
    mutex_.Lock();
    balance_ = 1;
  }  // MISTAKE: still locked

 private:
  void Reset() MLC_REQUIRES(mutex_) { balance_ = 0; }

  Mutex first_ MLC_ACQUIRED_BEFORE(mutex_);
  mutable Mutex mutex_;
  CondVar changed_;
  int balance_ MLC_GUARDED_BY(mutex_) = 0;
};

}  // namespace mlc
