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

#endif
