#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compiler/runtime/thread_pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a thread spins before it sleeps. Waking a sleeper costs 20 to 30 microseconds, so
   spinning about twice as long never loses more than it can win. */
enum { kSpinNanoseconds = 75000, kPausesBetweenClockReads = 32 };

typedef struct worker {
  mlc_pool* pool;
  pthread_t handle;
  int index;
  int processor; /* to stay on; -1 for none */
} worker;

struct mlc_pool {
  int threads;
  int64_t spin_ns;
  /* Written by the caller before `round` moves on. */
  mlc_pool_work work; /* NULL ends the workers */
  void* context;
  _Alignas(64) atomic_uint round; /* counts runs; workers wait for it to move */
  atomic_uint sleepers;           /* workers asleep on `round`, or about to be */
  _Alignas(64) atomic_uint busy;  /* workers that have not finished this round */
  atomic_uint caller_sleeps;      /* the caller is asleep on `busy`, or about to be */
  worker workers[];               /* threads - 1 */
};

static void FutexWait(atomic_uint* word, unsigned expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void FutexWakeAll(atomic_uint* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}

static void Pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

static int64_t NowNanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Spins until *word differs from `value` (`until_equal`: until it equals it). 0 when the time is
   over. */
static int SpinUntil(const atomic_uint* word, unsigned value, int until_equal, int64_t spin_ns) {
  int64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < kPausesBetweenClockReads; ++i) {
      const unsigned seen = atomic_load_explicit(word, memory_order_acquire);
      if ((seen == value) == (until_equal != 0)) return 1;
      if (spin_ns == 0) return 0;
      Pause();
    }
    const int64_t now = NowNanoseconds();
    if (deadline == 0) deadline = now + spin_ns;
    if (now >= deadline) return 0;
  }
}

/* The number of the round that follows `last`, once it has begun. */
static unsigned AwaitRound(mlc_pool* pool, unsigned last) {
  if (!SpinUntil(&pool->round, last, 0, pool->spin_ns)) {
    /* Announced before the last look: a caller that moves the round on after it sees a sleeper. */
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->round) == last) FutexWait(&pool->round, last);
    atomic_fetch_sub(&pool->sleepers, 1);
  }
  return last + 1;
}

static void* WorkerMain(void* argument) {
  const worker* self = argument;
  mlc_pool* pool = self->pool;
  if (self->processor >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(self->processor, &one);
    sched_setaffinity(0, sizeof one, &one); /* a wish: the work is right without it */
  }
  unsigned round = 0;
  for (;;) {
    round = AwaitRound(pool, round);
    const mlc_pool_work work = pool->work;
    if (work == NULL) return NULL;
    work(pool->context, self->index);
    if (atomic_fetch_sub(&pool->busy, 1) == 1 && atomic_load(&pool->caller_sleeps) != 0) {
      FutexWakeAll(&pool->busy);
    }
  }
}

/* Starts a round; does not wait for it. */
static void Begin(mlc_pool* pool, mlc_pool_work work, void* context) {
  pool->work = work;
  pool->context = context;
  atomic_store(&pool->busy, (unsigned)pool->threads - 1);
  atomic_fetch_add(&pool->round, 1);
  if (atomic_load(&pool->sleepers) != 0) FutexWakeAll(&pool->round);
}

static void AwaitWorkers(mlc_pool* pool) {
  if (SpinUntil(&pool->busy, 0, 1, pool->spin_ns)) return;
  atomic_store(&pool->caller_sleeps, 1);
  unsigned busy = atomic_load(&pool->busy);
  while (busy != 0) {
    FutexWait(&pool->busy, busy);
    busy = atomic_load(&pool->busy);
  }
  atomic_store(&pool->caller_sleeps, 0);
}

/* The i-th processor of the set, counting around; -1 for an empty set. */
static int ProcessorAt(const cpu_set_t* allowed, int i) {
  const int count = CPU_COUNT(allowed);
  if (count == 0) return -1;
  i %= count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, allowed) && i-- == 0) return cpu;
  }
  return -1;
}

static int StartWorkers(mlc_pool* pool, const cpu_set_t* allowed, int pin) {
  /* Signals stay with the threads of the program. */
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  const int threads = pool->threads;
  for (int i = 1; i < threads && error == 0; ++i) {
    worker* w = &pool->workers[i - 1];
    w->pool = pool;
    w->index = i;
    w->processor = pin ? ProcessorAt(allowed, i) : -1;
    error = pthread_create(&w->handle, NULL, WorkerMain, w);
    if (error != 0) pool->threads = i; /* those that run */
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

mlc_pool* mlc_pool_create(int threads, int pin) {
  if (threads < 1) {
    errno = EINVAL;
    return NULL;
  }
  const size_t bytes = sizeof(mlc_pool) + (size_t)(threads - 1) * sizeof(worker);
  mlc_pool* pool = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (pool == NULL) return NULL;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  pool->threads = threads;
  pool->spin_ns = known && CPU_COUNT(&allowed) < threads ? 0 : kSpinNanoseconds;
  pool->work = NULL;
  pool->context = NULL;
  atomic_init(&pool->round, 0);
  atomic_init(&pool->sleepers, 0);
  atomic_init(&pool->busy, 0);
  atomic_init(&pool->caller_sleeps, 0);
  const int error = StartWorkers(pool, &allowed, pin && known);
  if (error != 0) {
    mlc_pool_destroy(pool);
    errno = error;
    return NULL;
  }
  return pool;
}

void mlc_pool_destroy(mlc_pool* pool) {
  if (pool == NULL) return;
  if (pool->threads > 1) Begin(pool, NULL, NULL);
  for (int i = 1; i < pool->threads; ++i) pthread_join(pool->workers[i - 1].handle, NULL);
  free(pool);
}

int mlc_pool_threads(const mlc_pool* pool) { return pool == NULL ? 1 : pool->threads; }

void mlc_pool_run(mlc_pool* pool, mlc_pool_work work, void* context) {
  if (mlc_pool_threads(pool) == 1) {
    work(context, 0);
    return;
  }
  Begin(pool, work, context);
  work(context, 0);
  AwaitWorkers(pool);
}

typedef struct phase_run {
  const mlc_phase* phase;
  void* const* buffers;
  int threads;
} phase_run;

static void RunShare(void* context, int thread) {
  const phase_run* run = context;
  const int64_t share = run->phase->extent / run->threads;
  const int64_t rest = run->phase->extent % run->threads;
  const int64_t begin = share * thread + (thread < rest ? thread : rest);
  const int64_t end = begin + share + (thread < rest ? 1 : 0);
  if (begin < end) run->phase->fn(run->buffers, begin, end, thread);
}

void mlc_run_phases(mlc_pool* pool, const mlc_phase* phases, int count, void* const* buffers) {
  phase_run run = {NULL, buffers, mlc_pool_threads(pool)};
  for (int i = 0; i < count; ++i) {
    run.phase = &phases[i];
    if (phases[i].extent == 1) {
      phases[i].fn(buffers, 0, 1, 0); /* nothing to share */
    } else {
      mlc_pool_run(pool, RunShare, &run);
    }
  }
}
