#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compiler/runtime/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compiler/runtime/loop_piece.h"
#include "compiler/runtime/thread_place.h"
#include "compiler/runtime/thread_wait.h"
#include "compiler/runtime/work_share.h"

/* How long a thread spins before it sleeps. Waking a sleeper costs 20 to 30 microseconds, so
   spinning about twice as long never loses more than it can win. */
enum { kSpinNanoseconds = 75000 };

/* A worker that has begun and whose CPU time stands still for so long has lost its CPU
   to another program, which may keep it for many milliseconds. */
enum { kFirstSpinNanoseconds = 20000, kStandstillNanoseconds = 10000, kSleepNanoseconds = 500000 };

/* A thread that has run its share looks for what is left of so many others' at most. */
enum { kMaxVictims = 31 };

/* What a round does: the share of thread i, cut into grains. */
typedef struct job {
  const mlc_phase* phase; /* or work */
  const mlc_bound* bound; /* of the phase; null: every iteration runs */
  void* const* buffers;
  mlc_pool_work work; /* both null: the worker ends */
  void* context;
} job;

typedef struct worker {
  /* The caller offers a share. The worker begins it, and gives MLC_NO_SHARE back once nothing is
     left to do for it, here or elsewhere. */
  _Alignas(64) atomic_uint share;
  atomic_uint asleep; /* on this word, or about to be */
  /* Seldom written, read by others: on a cache line of its own. */
  _Alignas(64) atomic_int cpu; /* that the worker was last seen on */
  atomic_int thread;           /* its number in the system, once it runs */
  atomic_int fetched;          /* the caller has moved it */
  mlc_pool* pool;
  int index;
  int pinned_to; /* -1 for none */
  pthread_t handle;
  clockid_t clock; /* of its CPU time; for the caller */
  int was_fetched; /* since it last moved; for the worker */
  mlc_place place;
} worker;

struct mlc_pool {
  int threads;
  int64_t spin_ns;
  int moves;                      /* the threads choose CPUs */
  atomic_int in_run;              /* between mlc_pool_begin and mlc_pool_end */
  job job;                        /* written by the caller before it offers shares */
  _Alignas(64) atomic_uint share; /* the caller's own */
  _Alignas(64) atomic_int caller_cpu;
  atomic_uint caller_sleeps; /* on a share, or about to */
  worker workers[];          /* threads - 1 */
};

/* Writes only what changes: others read the word. Returns the CPU. */
static int NoteCpu(atomic_int* word) {
  const int cpu = sched_getcpu();
  if (atomic_load_explicit(word, memory_order_relaxed) != cpu) {
    atomic_store_explicit(word, cpu, memory_order_relaxed);
  }
  return cpu;
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
  mlc_run_piece(phase, pool->job.bound, pool->job.buffers, first + count * from / grains,
                first + count * to / grains, thread);
}

/* Of the share of any worker. */
static unsigned Grains(const mlc_pool* pool, int share) {
  const mlc_phase* phase = pool->job.phase;
  if (phase == NULL) return 1;
  const int64_t count =
      phase->extent / pool->threads + (share < phase->extent % pool->threads ? 1 : 0);
  return count < MLC_MOST_GRAINS ? (unsigned)count : MLC_MOST_GRAINS;
}

static atomic_uint* ShareOf(mlc_pool* pool, int thread) {
  return thread == 0 ? &pool->share : &pool->workers[thread - 1].share;
}

/* Runs the thread's own share, from its start, until other threads have taken the rest. */
static void RunOwnShare(mlc_pool* pool, int thread) {
  const unsigned grains = Grains(pool, thread);
  mlc_grains taken;
  while (mlc_share_take_own(ShareOf(pool, thread), &taken)) {
    RunGrains(pool, thread, taken.from, taken.to, grains, thread);
  }
}

/* Runs what others have not begun, half by half from the end of their shares: an owner that is
   slow, or that has no CPU at the moment, finds about as much as the helpers still have to
   do. */
static void StealGrains(mlc_pool* pool, int thread, int victims) {
  for (int i = 1; i <= victims; ++i) {
    const int victim = (thread + i) % pool->threads;
    atomic_uint* share = ShareOf(pool, victim);
    if (mlc_share_left(atomic_load_explicit(share, memory_order_relaxed)) == 0) continue;
    const unsigned grains = Grains(pool, victim);
    mlc_grains taken;
    while (mlc_share_take_others(share, &taken)) {
      RunGrains(pool, victim, taken.from, taken.to, grains, thread);
    }
  }
}

/* What a worker does once its own share is done. Where every thread had one iteration at most,
   there is nothing to find but shares of late workers, which the caller takes. */
static void HelpAsWorker(mlc_pool* pool, int thread) {
  const mlc_phase* phase = pool->job.phase;
  if (phase == NULL || phase->extent <= pool->threads) return;
  const int others = pool->threads - 1;
  StealGrains(pool, thread, others < kMaxVictims ? others : kMaxVictims);
}

/* Moves the worker if it shares its CPU with the caller or with a worker before it. */
static void LeaveCrowd(worker* self) {
  mlc_pool* pool = self->pool;
  if (!pool->moves) return;
  const int here = NoteCpu(&self->cpu);
  int other = atomic_load_explicit(&pool->caller_cpu, memory_order_relaxed);
  int crowded = other == here;
  cpu_set_t taken;
  CPU_ZERO(&taken);
  CPU_SET((size_t)other, &taken); /* a negative one is out of range, and ignored */
  for (int i = 1; i < self->index; ++i) {
    other = atomic_load_explicit(&pool->workers[i - 1].cpu, memory_order_relaxed);
    crowded |= other == here;
    CPU_SET((size_t)other, &taken);
  }
  if (!crowded || here < 0) return;
  /* The caller may be about to move this thread: not before it has. */
  if (self->was_fetched && atomic_exchange(&self->fetched, 0) == 0) return;
  mlc_place_leave(&self->place, &taken, self->was_fetched);
  self->was_fetched = 0;
  NoteCpu(&self->cpu);
}

/* Begins the worker's share, once there is one. */
static void AwaitShare(worker* self) {
  for (;;) {
    if (mlc_share_begin(&self->share)) return;
    LeaveCrowd(self);
    if (SpinWhile(&self->share, MLC_NO_SHARE, self->pool->spin_ns, &self->pool->in_run)) continue;
    /* Announced before the last look: a caller that offers a share after it sees a sleeper. */
    atomic_store(&self->asleep, 1);
    while (atomic_load(&self->share) == MLC_NO_SHARE && atomic_load(&self->asleep) == 1) {
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
    AwaitShare(self);
    if (pool->job.phase == NULL && pool->job.work == NULL) return NULL;
    NoteCpu(&self->cpu);
    RunOwnShare(pool, self->index);
    HelpAsWorker(pool, self->index);
    if (mlc_share_end(&self->share)) self->was_fetched = 1;
    if (atomic_load(&pool->caller_sleeps) != 0) FutexWake(&self->share);
  }
}

/* Starts a round; does not wait for it. */
static void Offer(mlc_pool* pool, job next) {
  pool->job = next;
  NoteCpu(&pool->caller_cpu);
  mlc_share_offer(&pool->share, Grains(pool, 0), /*begun=*/1);
  int offered = 1;
  for (; offered < pool->threads; ++offered) {
    const unsigned grains = Grains(pool, offered);
    if (grains == 0) break; /* nor have the workers after it */
    mlc_share_offer(&pool->workers[offered - 1].share, grains, /*begun=*/0);
  }
  /* Once for all shares: their cache lines travel side by side. A worker that goes to sleep after
     this sees its share; one that has before is seen here. */
  atomic_thread_fence(memory_order_seq_cst);
  for (int i = 1; i < offered; ++i) {
    worker* w = &pool->workers[i - 1];
    if (atomic_load_explicit(&w->asleep, memory_order_relaxed) != 0 &&
        atomic_exchange(&w->asleep, 0) != 0) {
      FutexWake(&w->asleep);
    }
  }
}

/* CPU time that the worker has had. */
static int64_t Consumed(const worker* w) {
  struct timespec used = {0, 0};
  clock_gettime(w->clock, &used);
  return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Moves a worker that has begun and has not run since it had had `consumed` to this CPU, so
   that it goes on when the caller sleeps. */
static void FetchIfStalled(worker* w, int64_t consumed) {
  if (Consumed(w) - consumed >= kStandstillNanoseconds) return;
  if (!mlc_share_fetch(&w->share)) return;
  mlc_place_fetch(atomic_load(&w->thread));
  atomic_store(&w->fetched, 1);
}

/* The caller sleeps until the worker has finished. `consumed`: CPU time that the worker had
   had some time ago. */
static void Sleep(mlc_pool* pool, worker* w, int64_t consumed) {
  atomic_store(&pool->caller_sleeps, 1);
  for (;;) {
    if (pool->moves) FetchIfStalled(w, consumed);
    const unsigned seen = atomic_load(&w->share);
    if (seen == MLC_NO_SHARE) break;
    const int looks_again = pool->moves && !mlc_share_fetched(seen);
    if (looks_again) consumed = Consumed(w);
    FutexWait(&w->share, seen, looks_again ? kSleepNanoseconds : 0);
  }
  atomic_store(&pool->caller_sleeps, 0);
}

/* Spins until the worker has finished: 1. 0: for too long, or it has lost its CPU. `consumed`: its
   CPU time some time ago. */
static int SpinForWorker(const mlc_pool* pool, const worker* w, int64_t* consumed) {
  if (SpinUntil(&w->share, MLC_NO_SHARE, kFirstSpinNanoseconds)) return 1;
  int64_t waited = kFirstSpinNanoseconds;
  do {
    const int64_t spin_ns = pool->spin_ns - kFirstSpinNanoseconds;
    if (pool->moves) *consumed = Consumed(w);
    if (SpinUntil(&w->share, MLC_NO_SHARE, spin_ns)) return 1;
    waited += spin_ns;
    if (pool->moves && Consumed(w) - *consumed < kStandstillNanoseconds) return 0;
  } while (atomic_load_explicit(&pool->in_run, memory_order_relaxed) != 0 &&
           waited < kRunSpinNanoseconds);
  return 0;
}

static void Await(mlc_pool* pool, worker* w) {
  if (atomic_load_explicit(&w->share, memory_order_acquire) == MLC_NO_SHARE) return;
  /* A worker on this CPU cannot go on before the caller sleeps. */
  const int beside = atomic_load_explicit(&w->cpu, memory_order_relaxed) == sched_getcpu();
  int64_t consumed = INT64_MIN / 2;
  if (!beside && pool->spin_ns > 0 && SpinForWorker(pool, w, &consumed)) return;
  Sleep(pool, w, consumed);
}

static void AwaitAll(mlc_pool* pool) {
  /* Loads that do not wait for one another: most rounds end here. */
  unsigned busy = 0;
  for (int i = 1; i < pool->threads; ++i) {
    busy |= atomic_load_explicit(&pool->workers[i - 1].share, memory_order_acquire);
  }
  if (busy == MLC_NO_SHARE) return;
  for (int i = 1; i < pool->threads; ++i) Await(pool, &pool->workers[i - 1]);
}

static void RunPhase(mlc_pool* pool, const job* phase) {
  Offer(pool, *phase);
  RunOwnShare(pool, 0);
  StealGrains(pool, 0, pool->threads - 1);
  AwaitAll(pool);
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
    w->pinned_to = pin ? mlc_place_cpu(allowed, i) : -1;
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
  const int cpus = CPU_COUNT(&allowed);
  pool->threads = threads;
  pool->spin_ns = cpus != 0 && cpus < threads ? 0 : kSpinNanoseconds;
  pool->moves = pool->spin_ns > 0 && !pin && cpus > 1;
  pool->job = (job){NULL, NULL, NULL, NULL, NULL};
  atomic_init(&pool->in_run, 0);
  atomic_init(&pool->share, MLC_NO_SHARE);
  atomic_init(&pool->caller_cpu, sched_getcpu());
  atomic_init(&pool->caller_sleeps, 0);
  for (int i = 1; i < threads; ++i) {
    worker* w = &pool->workers[i - 1];
    atomic_init(&w->share, MLC_NO_SHARE);
    atomic_init(&w->asleep, 0);
    atomic_init(&w->cpu, -1);
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
  Offer(pool, (job){NULL, NULL, NULL, NULL, NULL});
  for (int i = 1; i < pool->threads; ++i) pthread_join(pool->workers[i - 1].handle, NULL);
  free(pool);
}

int mlc_pool_threads(const mlc_pool* pool) { return pool == NULL ? 1 : pool->threads; }

void mlc_pool_begin(mlc_pool* pool) {
  if (pool != NULL) atomic_store_explicit(&pool->in_run, 1, memory_order_relaxed);
}

void mlc_pool_end(mlc_pool* pool) {
  if (pool != NULL) atomic_store_explicit(&pool->in_run, 0, memory_order_relaxed);
}

void mlc_pool_run(mlc_pool* pool, mlc_pool_work work, void* context) {
  if (mlc_pool_threads(pool) == 1) {
    work(context, 0);
    return;
  }
  Offer(pool, (job){NULL, NULL, NULL, work, context});
  work(context, 0);
  AwaitAll(pool);
}

void mlc_run_bounded_phases(mlc_pool* pool, const mlc_phase* phases, const mlc_bound* bounds,
                            int count, void* const* buffers) {
  const int threads = mlc_pool_threads(pool);
  for (int i = 0; i < count; ++i) {
    const mlc_phase* phase = &phases[i];
    const job next = {phase, bounds == NULL ? NULL : &bounds[i], buffers, NULL, NULL};
    if (phase->extent < 1) continue;
    if (phase->extent == 1 || threads == 1) {
      mlc_run_piece(phase, next.bound, buffers, 0, phase->extent, 0); /* nothing to share */
    } else {
      RunPhase(pool, &next);
    }
  }
}

void mlc_run_phases(mlc_pool* pool, const mlc_phase* phases, int count, void* const* buffers) {
  mlc_run_bounded_phases(pool, phases, NULL, count, buffers);
}
