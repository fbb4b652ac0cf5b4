/* A piece of a phase, some of whose iterations do not run. Internal to the pool. C11. */
#ifndef MLC_COMPILER_RUNTIME_LOOP_PIECE_H_
#define MLC_COMPILER_RUNTIME_LOOP_PIECE_H_

#include <stddef.h>

#include "compiler/runtime/thread_pool.h"

/* Runs iterations [begin, end) of those that run; a null bound: of all. */
static inline void mlc_run_piece(const mlc_phase* phase, const mlc_bound* bound,
                                 void* const* buffers, int64_t begin, int64_t end, int thread) {
  if (bound == NULL || bound->run == bound->period) {
    phase->fn(buffers, begin, end, thread);
    return;
  }
  while (begin < end) {
    const int64_t within = begin % bound->run;
    const int64_t left = bound->run - within;
    const int64_t count = left < end - begin ? left : end - begin;
    const int64_t at = begin / bound->run * bound->period + within;
    phase->fn(buffers, at, at + count, thread);
    begin += count;
  }
}

#endif
