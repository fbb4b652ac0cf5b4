/* Where the threads of a pool run. The scheduler may put a thread that is woken onto the CPU
   of the one that wakes it and leave both there for seconds, while others idle; the threads of a
   pool then take turns instead of working side by side. So a thread that finds itself beside the
   caller, or beside a worker of a lower index, moves away. C11 and Linux; no global state. */
#ifndef MLC_COMPILER_RUNTIME_THREAD_PLACE_H_
#define MLC_COMPILER_RUNTIME_THREAD_PLACE_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Belongs to one thread. */
typedef struct mlc_place {
  int movable;
  cpu_set_t allowed; /* what the program gave the thread */
  cpu_set_t last;    /* what the thread asked for last */
} mlc_place;

/* The CPUs that the calling thread may use; empty when that cannot be known. */
void mlc_place_allowed(cpu_set_t* allowed);

/* The i-th CPU of the set, counting around; -1 for an empty set. */
int mlc_place_cpu(const cpu_set_t* allowed, int i);

/* Called by the thread itself. `cpu`: to stay on for good; below 0, mlc_place_leave moves it.
 */
void mlc_place_init(mlc_place* place, int cpu);

/* Moves the calling thread off the CPUs of `taken`, where it may use another. It stays off
   them until it is moved again. What others set with sched_setaffinity in between holds. `fetched`:
   mlc_place_fetch has moved it since. */
void mlc_place_leave(mlc_place* place, const cpu_set_t* taken, int fetched);

/* Moves another thread of the process to the CPU of the calling thread. */
void mlc_place_fetch(int thread);

#ifdef __cplusplus
}
#endif

#endif
