/* The binary interface between generated kernels and their callers: a worker's runner, a
   library. C11; no dependency. A kernel is one function per phase. */
#ifndef MLC_COMPILER_RUNTIME_ABI_H_
#define MLC_COMPILER_RUNTIME_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs iterations [begin, end) of a phase's parallel loop on thread `thread` (0 .. threads-1).
   `buffers`: the kernel's parameters in order, then, if it takes a limit, this number in place of a
   pointer, then the base of its shared scratch, then the base of the thread scratch of all threads
   (thread i owns bytes [i*thread_bytes, (i+1)*thread_bytes)). Every base is aligned to 64 bytes,
   except that an input may be a view, aligned to its elements. Buffers inside a scratch area are
   laid out in order of declaration, each aligned to 64 bytes (mlc_scratch_align). */
typedef void (*mlc_phase_fn)(void* const* buffers, int64_t begin, int64_t end, int64_t thread);

typedef struct mlc_phase {
  mlc_phase_fn fn;
  int64_t extent; /* iterations of the parallel loop, from 0 */
} mlc_phase;

#ifdef __cplusplus
}
#endif

#endif
