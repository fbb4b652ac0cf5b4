/* What the parts of the driver share. */
#ifndef MLC_TESTS_UNIT_RUNTIME_FAKE_CUDA_DRIVER_H_
#define MLC_TESTS_UNIT_RUNTIME_FAKE_CUDA_DRIVER_H_

#include <stdint.h>

#include "compiler/runtime/cuda_driver.h"

enum { kCalls = 1024, kParameters = 24 };

struct CUlib_st {
  const char* code;
};
struct CUkern_st {
  char name[64];
  struct CUkern_st* next;
};
typedef struct fake_call {
  const struct CUkern_st* kernel;
  mlc_cu_launch_config config;
  int programmatic;
  uint64_t arguments[kParameters];
} fake_call;
struct CUgraph_st {
  int count;
  fake_call calls[kCalls];
};
struct CUgraphExec_st {
  struct CUgraph_st graph;
};
struct CUstream_st {
  struct CUgraph_st* captured;
};
struct CUevent_st {
  double at;
};

extern long fake_held;     /* see fake_cuda_held */
extern double fake_now_ms; /* moves with every kernel */
void fake_note(const char* format, ...);
/* The result that the test wants of this call, 0 mostly. */
int fake_failure(const char* name);
/* Does at once what was launched or captured. */
void fake_execute(const fake_call* call);

#endif
