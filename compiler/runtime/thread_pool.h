/* A fork-join pool of threads for running kernels. C11 and Linux only: futexes, no condition
   variables, no global state, so that a stand-alone library can link it. The caller works along as
   thread 0; the other threads spin for some tens of microseconds between runs and then sleep, so a
   run right after another costs about a microsecond and an idle pool costs nothing. Unless pinned,
   workers choose their CPUs (thread_place.h).

   A pool serves one caller at a time; different pools are independent. A pool does not survive
   fork(): the child has none of its threads and must not use or destroy it. */
#ifndef MLC_COMPILER_RUNTIME_THREAD_POOL_H_
#define MLC_COMPILER_RUNTIME_THREAD_POOL_H_

#include "compiler/runtime/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlc_pool mlc_pool;

/* A pool of `threads` threads, the caller's included. With `pin`, worker i stays on the i-th
   CPU that the creating thread may use (the caller itself is not pinned). Where the process
   may use fewer CPUs than `threads`, workers do not spin. NULL with errno set when `threads`
   is below 1, or memory or threads are exhausted. */
mlc_pool* mlc_pool_create(int threads, int pin);

/* Ends the threads and frees the pool. REQUIRES: no run is in progress. NULL is allowed. */
void mlc_pool_destroy(mlc_pool* pool);

/* 1 for NULL. */
int mlc_pool_threads(const mlc_pool* pool);

/* Between the two calls, rounds follow one another, as the kernels of a network do: threads that
   wait for the next one or for the last spin for up to two milliseconds before they sleep. By the
   caller, around its rounds; not nested. NULL is allowed. */
void mlc_pool_begin(mlc_pool* pool);
void mlc_pool_end(mlc_pool* pool);

/* Calls work(context, thread) once on every thread, 0 .. threads-1, and returns when all are done.
   What the caller wrote before is visible to the work, and the work's writes to the caller after.
   NULL runs the one call of thread 0. */
typedef void (*mlc_pool_work)(void* context, int thread);
void mlc_pool_run(mlc_pool* pool, mlc_pool_work work, void* context);

/* Which iterations of a phase run: the first `run` of every `period`. */
typedef struct mlc_bound {
  int64_t period;
  int64_t run;
} mlc_bound;

/* Runs `count` phases one after the other. The iterations of a phase are split evenly over the
   threads (the first ones get the remainder), and what a thread has not begun when the caller is
   done with its own share runs on the caller: a function is called with any pieces of a phase, each
   iteration once, and with the number of the thread that it runs on. Every iteration of a phase has
   ended before the next phase begins. `buffers` is passed on as runtime/abi.h lays down; its thread
   scratch must serve mlc_pool_threads(pool) threads. */
void mlc_run_phases(mlc_pool* pool, const mlc_phase* phases, int count, void* const* buffers);

/* The same with a bound for each phase, whose extent is the number of iterations that run. */
void mlc_run_bounded_phases(mlc_pool* pool, const mlc_phase* phases, const mlc_bound* bounds,
                            int count, void* const* buffers);

#ifdef __cplusplus
}
#endif

#endif
