/* What waiting threads are made of: sleeping on a word and waking its sleepers (futex(2)), a pause
   between two looks at a word, and the clock that bounds the looking. C11 and Linux; stateless.
   Internal to the thread pool. */
#ifndef MLC_COMPILER_RUNTIME_THREAD_WAIT_H_
#define MLC_COMPILER_RUNTIME_THREAD_WAIT_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* At most so long; 0: until woken. */
static inline void FutexWait(atomic_uint* word, unsigned expected, long nanoseconds) {
  const struct timespec limit = {0, nanoseconds};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds > 0 ? &limit : NULL, NULL, 0);
}

static inline void FutexWake(atomic_uint* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void Pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

static inline int64_t NowNanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* While a run is in progress the next round is about to come, and one late thread must not put all
   others to sleep: with this, bert_base takes 33 ms on 8 of 16 CPUs of a virtual machine, without
   it 41 ms. */
enum { kRunSpinNanoseconds = 2000000, kPausesBetweenClockReads = 32 };

/* Spins while the word is `value`: for `spin_ns`, or longer as long as `in_run` is set. 0 when the
   time is over. */
static inline int SpinWhile(const atomic_uint* word, unsigned value, int64_t spin_ns,
                            const atomic_int* in_run) {
  if (spin_ns == 0) return atomic_load_explicit(word, memory_order_acquire) != value;
  const int64_t started = NowNanoseconds();
  for (;;) {
    for (int i = 0; i < kPausesBetweenClockReads; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
      Pause();
    }
    const int64_t spun = NowNanoseconds() - started;
    if (spun < spin_ns) continue;
    const int longer = atomic_load_explicit(in_run, memory_order_relaxed) != 0;
    if (!longer || spun >= kRunSpinNanoseconds) return 0;
  }
}

/* Spins for `spin_ns` until the word is `value`. 0 when the time is over. */
static inline int SpinUntil(const atomic_uint* word, unsigned value, int64_t spin_ns) {
  const int64_t started = NowNanoseconds();
  do {
    for (int i = 0; i < kPausesBetweenClockReads; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) == value) return 1;
      Pause();
    }
  } while (NowNanoseconds() - started < spin_ns);
  return 0;
}

#endif
