/* A CUDA driver for tests on machines without one: a shared library named libcuda.so.1 whose device
   memory is the host's, whose streams run at once and whose graphs are lists of calls. It notes
   what it is asked to do. Kernels are known by name: NAME_add, NAME_scale, NAME_count and
   NAME_fetch compute, others do nothing. Code is "FAKE" and a list of names, or anything that
   contains the names. Not thread-safe. */
#ifndef MLC_TESTS_UNIT_RUNTIME_FAKE_CUDA_H_
#define MLC_TESTS_UNIT_RUNTIME_FAKE_CUDA_H_

#ifdef __cplusplus
extern "C" {
#endif

/* One line per noted call since the last fake_cuda_reset:
     launch NAME blocks=B threads=T bytes=D programmatic=P
     map type=T swizzle=S promotion=P BOX of DEPTH by BOX of ROWS at PITCH*STEP by ...
     htod BYTES | dtoh BYTES | graph_launch N | instantiate N | update N | load binary|text */
const char* fake_cuda_notes(void);
/* Forgets notes and failures; compute capability 9.0, one device, driver 13.0. */
void fake_cuda_reset(void);
/* The device that there is; `devices` may be 0. */
void fake_cuda_device(int compute, int devices, int driver_version);
/* Call number `n` from now (from 1) of the driver's function `name` gives `result`. */
void fake_cuda_fail(const char* name, int n, int result);
/* Has launches computed by the test: `count` says how many arguments a function takes, `run` gets
   them. Null: kernels compute by their names again. */
void fake_cuda_compute(int (*count)(const char* function),
                       void (*run)(const char* function, const unsigned long long* arguments));
/* Device memory, pinned memory, streams, events, graphs and libraries that are held. */
long fake_cuda_held(void);

#ifdef __cplusplus
}
#endif

#endif
