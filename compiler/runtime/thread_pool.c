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

#include "compiler/runtime/thread_place.h"

/* How long a thread spins before it sleeps. Waking a sleeper costs 20 to 30 microseconds, so
   spinning about twice as long never loses more than it can win. */
enum { kSpinNanoseconds = 75000, kPausesBetweenClockReads = 32 };

/* A worker that has begun and whose processor time stands still for so long has lost its processor
   to another program, which may keep it for many milliseconds. */
enum { kFirstSpinNanoseconds = 20000, kStandstillNanoseconds = 10000, kSleepNanoseconds = 500000 };

/* States of a worker's share. Every other value counts the grains that nobody has begun. */
enum { kNone = 0, kMaxGrains = 64, kTaken = 1000, kFetched = 1001 };

/* What a round does: the share of thread i, cut into grains. */
typedef struct job {
  const mlc_phase* phase; /* or work */
  void* const* buffers;
  mlc_pool_work work; /* both null: the worker ends */
  void* context;
} job;

typedef struct worker {
  /* The caller offers a share; the worker takes all that is left of it, and gives kNone back when
     it has run it. Meanwhile the caller may take grains from its end. */
  _Alignas(64) atomic_uint share;
  atomic_uint asleep; /* on this word, or about to be */
  /* Seldom written, read by others: on a cache line of its own. */
  _Alignas(64) atomic_int processor; /* that the worker was last seen on */
  atomic_int thread;                 /* its number in the system, once it runs */
  atomic_int fetched;                /* the caller has moved it */
  mlc_pool* pool;
  int index;
  int pinned_to; /* -1 for none */
  pthread_t handle;
  clockid_t clock; /* of its processor time; for the caller */
  int was_fetched; /* since it last moved; for the worker */
  mlc_place place;
} worker;

struct mlc_pool {
  int threads;
  int64_t spin_ns;
  int moves; /* the threads choose processors */
  job job;   /* written by the caller before it offers shares */
  _Alignas(64) atomic_int caller_processor;
  atomic_uint caller_sleeps; /* on a share, or about to */
  worker workers[];          /* threads - 1 */
};

/* At most so long; 0: until woken. */
static void FutexWait(atomic_uint* word, unsigned expected, long nanoseconds) {
  const struct timespec limit = {0, nanoseconds};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nanoseconds > 0 ? &limit : NULL, NULL, 0);
}

static void FutexWake(atomic_uint* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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

/* Spins until there is (`some`) or is not a share. 0 when the time is over. */
static int SpinForShare(const atomic_uint* share, int some, int64_t spin_ns) {
  int64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < kPausesBetweenClockReads; ++i) {
      const unsigned seen = atomic_load_explicit(share, memory_order_acquire);
      if ((seen != kNone) == (some != 0)) return 1;
      if (spin_ns == 0) return 0;
      Pause();
    }
    const int64_t now = NowNanoseconds();
    if (deadline == 0) deadline = now + spin_ns;
    if (now >= deadline) return 0;
  }
}

/* Writes only what changes: others read the word. Returns the processor. */
static int NoteProcessor(atomic_int* word) {
  const int processor = sched_getcpu();
  if (atomic_load_explicit(word, memory_order_relaxed) != processor) {
    atomic_store_explicit(word, processor, memory_order_relaxed);
  }
  return processor;
}

/* Grains [from, to) of `share`, which has `grains`. */
static void RunGrains(mlc_pool* pool, int share, int64_t from, int64_t to, int64_t grains,
                      int thread) {
  const mlc_phase* phase = pool->job.phase;
  if (phase == NULL) {
    pool->job.work(pool->job.context, share);
    return;
  }
  const int64_t each = phase->extent / pool->threads;
  const int64_t rest = phase->extent % pool->threads;
  const int64_t first = each * share + (share < rest ? share : rest);
  const int64_t count = each + (share < rest ? 1 : 0);
  phase->fn(pool->job.buffers, first + count * from / grains, first + count * to / grains, thread);
}

/* Of the share of any worker. */
static unsigned Grains(const mlc_pool* pool, int share) {
  const mlc_phase* phase = pool->job.phase;
  if (phase == NULL) return 1;
  const int64_t count =
      phase->extent / pool->threads + (share < phase->extent % pool->threads ? 1 : 0);
  return count < kMaxGrains ? (unsigned)count : kMaxGrains;
}

/* Moves the worker if it shares its processor with the caller or with a worker before it. */
static void LeaveCrowd(worker* self) {
  mlc_pool* pool = self->pool;
  if (!pool->moves) return;
  const int here = NoteProcessor(&self->processor);
  int other = atomic_load_explicit(&pool->caller_processor, memory_order_relaxed);
  int crowded = other == here;
  cpu_set_t taken;
  CPU_ZERO(&taken);
  CPU_SET((size_t)other, &taken); /* a negative one is out of range, and ignored */
  for (int i = 1; i < self->index; ++i) {
    other = atomic_load_explicit(&pool->workers[i - 1].processor, memory_order_relaxed);
    crowded |= other == here;
    CPU_SET((size_t)other, &taken);
  }
  if (!crowded || here < 0) return;
  /* The caller may be about to move this thread: not before it has. */
  if (self->was_fetched && atomic_exchange(&self->fetched, 0) == 0) return;
  mlc_place_leave(&self->place, &taken, self->was_fetched);
  self->was_fetched = 0;
  NoteProcessor(&self->processor);
}

/* Takes what is left of the worker's share, once there is one: so many grains from its start. */
static unsigned AwaitShare(worker* self) {
  for (;;) {
    unsigned left = atomic_load_explicit(&self->share, memory_order_relaxed);
    while (left != kNone) {
      if (atomic_compare_exchange_weak(&self->share, &left, kTaken)) return left;
    }
    LeaveCrowd(self);
    if (SpinForShare(&self->share, 1, self->pool->spin_ns)) continue;
    /* Announced before the last look: a caller that offers a share after it sees a sleeper. */
    atomic_store(&self->asleep, 1);
    while (atomic_load(&self->share) == kNone && atomic_load(&self->asleep) == 1) {
      FutexWait(&self->asleep, 1, 0);
    }
    atomic_store(&self->asleep, 0);
  }
}

static void* WorkerMain(void* argument) {
  worker* self = argument;
  mlc_pool* pool = self->pool;
  mlc_place_init(&self->place, self->pinned_to);
  atomic_store(&self->thread, (int)syscall(SYS_gettid));
  for (;;) {
    const unsigned grains = AwaitShare(self);
    if (pool->job.phase == NULL && pool->job.work == NULL) return NULL;
    NoteProcessor(&self->processor);
    RunGrains(pool, self->index, 0, grains, Grains(pool, self->index), self->index);
    if (atomic_exchange(&self->share, kNone) == kFetched) self->was_fetched = 1;
    if (atomic_load(&pool->caller_sleeps) != 0) FutexWake(&self->share);
  }
}

/* Starts a round; does not wait for it. */
static void Offer(mlc_pool* pool, job next) {
  pool->job = next;
  NoteProcessor(&pool->caller_processor);
  for (int i = 1; i < pool->threads; ++i) {
    worker* w = &pool->workers[i - 1];
    const unsigned grains = Grains(pool, i);
    if (grains == 0) return; /* nor have the workers after it */
    atomic_store(&w->share, grains);
  }
  for (int i = 1; i < pool->threads; ++i) {
    worker* w = &pool->workers[i - 1];
    if (atomic_load(&w->asleep) != 0 && atomic_exchange(&w->asleep, 0) != 0) FutexWake(&w->asleep);
  }
}

/* Runs what is left of a share that its worker has not begun, half by half from the end: a worker
   that comes in between finds about as much as the caller still has to do. */
static void RunForLate(mlc_pool* pool, worker* w) {
  unsigned left = atomic_load_explicit(&w->share, memory_order_relaxed);
  while (left != kNone && left <= kMaxGrains) {
    const unsigned keep = left / 2;
    if (!atomic_compare_exchange_weak(&w->share, &left, keep)) continue;
    RunGrains(pool, w->index, keep, left, Grains(pool, w->index), 0);
    left = keep;
  }
}

/* Processor time that the worker has had. */
static int64_t Consumed(const worker* w) {
  struct timespec used = {0, 0};
  clock_gettime(w->clock, &used);
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Moves a worker that has begun and has not run since it had had `consumed` to this processor, so
   that it goes on when the caller sleeps. */
static void FetchIfStalled(worker* w, int64_t consumed) {
  if (Consumed(w) - consumed >= kStandstillNanoseconds) return;
  unsigned seen = kTaken;
  if (!atomic_compare_exchange_strong(&w->share, &seen, kFetched)) return;
  mlc_place_fetch(atomic_load(&w->thread));
  atomic_store(&w->fetched, 1);
}

/* The caller sleeps until the worker has finished. `consumed`: processor time that the worker had
   had some time ago. */
static void Sleep(mlc_pool* pool, worker* w, int64_t consumed) {
  atomic_store(&pool->caller_sleeps, 1);
  for (;;) {
    if (pool->moves) FetchIfStalled(w, consumed);
    const unsigned seen = atomic_load(&w->share);
    if (seen == kNone) break;
    const int looks_again = pool->moves && seen != kFetched;
    if (looks_again) consumed = Consumed(w);
    FutexWait(&w->share, seen, looks_again ? kSleepNanoseconds : 0);
  }
  atomic_store(&pool->caller_sleeps, 0);
}

static void Await(mlc_pool* pool, worker* w) {
  if (atomic_load_explicit(&w->share, memory_order_acquire) == kNone) return;
  /* A worker on this processor cannot go on before the caller sleeps. */
  const int beside = atomic_load_explicit(&w->processor, memory_order_relaxed) == sched_getcpu();
  int64_t consumed = INT64_MIN / 2;
  if (!beside && pool->spin_ns > 0) {
    if (SpinForShare(&w->share, 0, kFirstSpinNanoseconds)) return;
    if (pool->moves) consumed = Consumed(w);
    if (SpinForShare(&w->share, 0, pool->spin_ns - kFirstSpinNanoseconds)) return;
  }
  Sleep(pool, w, consumed);
}

static void RunPhase(mlc_pool* pool, const mlc_phase* phase, void* const* buffers) {
  Offer(pool, (job){phase, buffers, NULL, NULL});
  RunGrains(pool, 0, 0, 1, 1, 0);
  for (int i = 1; i < pool->threads; ++i) RunForLate(pool, &pool->workers[i - 1]);
  for (int i = 1; i < pool->threads; ++i) Await(pool, &pool->workers[i - 1]);
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
    w->was_fetched = 0;
    w->pinned_to = pin ? mlc_place_processor(allowed, i) : -1;
    error = pthread_create(&w->handle, NULL, WorkerMain, w);
    if (error != 0) {
      pool->threads = i; /* those that run */
    } else if (pthread_getcpuclockid(w->handle, &w->clock) != 0) {
      w->clock = CLOCK_MONOTONIC; /* never stands still */
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

mlc_pool* mlc_pool_create(int threads, int pin) {
  if (threads < 1) {
    errno = EINVAL;
    return NULL;
  }
  /* Both types are aligned to cache lines, and so are their sizes. */
  mlc_pool* pool = aligned_alloc(64, sizeof(mlc_pool) + (size_t)(threads - 1) * sizeof(worker));
  if (pool == NULL) return NULL;
  cpu_set_t allowed;
  mlc_place_allowed(&allowed);
  const int processors = CPU_COUNT(&allowed);
  pool->threads = threads;
  pool->spin_ns = processors != 0 && processors < threads ? 0 : kSpinNanoseconds;
  pool->moves = pool->spin_ns > 0 && !pin && processors > 1;
  pool->job = (job){NULL, NULL, NULL, NULL};
  atomic_init(&pool->caller_processor, sched_getcpu());
  atomic_init(&pool->caller_sleeps, 0);
  for (int i = 1; i < threads; ++i) {
    worker* w = &pool->workers[i - 1];
    atomic_init(&w->share, kNone);
    atomic_init(&w->asleep, 0);
    atomic_init(&w->processor, -1);
    atomic_init(&w->thread, 0);
    atomic_init(&w->fetched, 0);
  }
  const int error = StartWorkers(pool, &allowed, pin);
  if (error != 0) {
    mlc_pool_destroy(pool);
    errno = error;
    return NULL;
  }
  return pool;
}

void mlc_pool_destroy(mlc_pool* pool) {
  if (pool == NULL) return;
  Offer(pool, (job){NULL, NULL, NULL, NULL});
  for (int i = 1; i < pool->threads; ++i) pthread_join(pool->workers[i - 1].handle, NULL);
  free(pool);
}

int mlc_pool_threads(const mlc_pool* pool) { return pool == NULL ? 1 : pool->threads; }

void mlc_pool_run(mlc_pool* pool, mlc_pool_work work, void* context) {
  if (mlc_pool_threads(pool) == 1) {
    work(context, 0);
    return;
  }
  Offer(pool, (job){NULL, NULL, work, context});
  work(context, 0);
  for (int i = 1; i < pool->threads; ++i) Await(pool, &pool->workers[i - 1]);
}

void mlc_run_phases(mlc_pool* pool, const mlc_phase* phases, int count, void* const* buffers) {
  const int threads = mlc_pool_threads(pool);
  for (int i = 0; i < count; ++i) {
    const mlc_phase* phase = &phases[i];
    if (phase->extent < 1) continue;
    if (phase->extent == 1 || threads == 1) {
      phase->fn(buffers, 0, phase->extent, 0); /* nothing to share */
    } else {
      RunPhase(pool, phase, buffers);
    }
  }
}
