/* The static tables of a compiled model, as final code generation writes them and the runtime reads
   them. Internal to one library: tables and runtime are always of the same build. C11. */
#ifndef MLC_COMPILER_RUNTIME_IMAGE_H_
#define MLC_COMPILER_RUNTIME_IMAGE_H_

#include "compiler/runtime/abi.h"
#include "compiler/runtime/cuda_driver.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/packed_code.h"
#include "compiler/runtime/tensor_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* MLC_AT_LIMIT is no place: the parameter is the number of rows that a run needs. */
enum {
  MLC_AT_INPUT = 0,
  MLC_AT_OUTPUT = 1,
  MLC_AT_ARENA = 2,
  MLC_AT_WEIGHTS = 3,
  MLC_AT_LIMIT = 4
};

/* Where one kernel parameter lives. */
typedef struct mlc_operand {
  int32_t kind;
  int32_t index; /* of the input or output port */
  int64_t byte_offset;
} mlc_operand;

/* Which iterations of a phase's loop write the first rows of a step's results: iteration i of each
   `period` writes none before row first[i]. */
typedef struct mlc_loop_rows {
  const int32_t* first; /* ascending; null: all iterations are to run */
  int64_t period;
} mlc_loop_rows;

enum { MLC_MOST_COPIES = 2 }; /* of a step: a cache of keys and one of values */

/* One kernel call. Its buffers are the operands, then shared scratch, then thread scratch. */
typedef struct mlc_step {
  const mlc_phase* phases;
  const mlc_operand* operands;
  const char* label;
  int64_t workspace_bytes;
  int64_t thread_bytes;
  int32_t phase_count;
  int32_t operand_count;
  /* The pairs of operands between which the first phase (on a GPU: the first launch) copies,
     without another effect. If both operands of each pair are one buffer, the step begins with the
     second. */
  int32_t copied[MLC_MOST_COPIES]; /* -1 behind the last */
  int32_t copy[MLC_MOST_COPIES];
  /* Of a library that takes ranges, on CPUs: the rows of the results that a run needs, a row of
     numbers as those of mlc_size_table.forms, and what each phase makes of them. Null: all. */
  const int64_t* rows;
  const mlc_loop_rows* loops;
} mlc_step;

/* Bits of required_features. */
enum { MLC_NEEDS_AVX2 = 1, MLC_NEEDS_AVX512 = 2, MLC_NEEDS_AVX512_VNNI = 4 };

typedef struct mlc_image {
  const mlc_port* inputs;
  const mlc_port* outputs;
  const mlc_step* steps;
  const void* weights; /* null when they are in a file */
  int64_t weights_bytes;
  uint64_t weights_check; /* first 8 bytes of the weights file when it is one */
  int64_t arena_bytes;
  int64_t workspace_bytes; /* maximum over the steps */
  int64_t thread_bytes;    /* maximum over the steps */
  int32_t input_count;
  int32_t output_count;
  int32_t step_count;
  int32_t operand_count; /* of all steps, plus two per step */
  int32_t threads;
  uint32_t required_features;
  const struct mlc_size_table* sizes; /* size_table.h; null: there is one size */
  /* Of a model with lengths that depend on data; null: there are none. The last output, i64, is not
     the caller's: it holds the counts that kernels made. A row for each axis of each other output:
     the greatest length, a number, and one number a count; the length is the first number plus the
     sum of the others times the counts, the greatest at most. */
  const int64_t* counted;
  int64_t count_count;
} mlc_image;

/* One launch of a kernel on a GPU. */
typedef struct mlc_device_launch {
  const char* function;
  mlc_cuda_dim3 grid;
  mlc_cuda_dim3 block;
  uint32_t block_bytes; /* dynamic on-chip memory */
  uint32_t awaits;      /* waits by itself for the launches before it: may begin early */
} mlc_device_launch;

/* The code of one task. Its functions take the operands, then scratch, then counters; those that
   copy tensors take all of the maps behind them. */
typedef struct mlc_device_kernel {
  int64_t binary;   /* where it begins among the image's binaries, unpacked */
  int64_t portable; /* the same among its texts; these end in 0 */
  const mlc_device_launch* launches;
  int64_t launch_count;
  const mlc_tensor_map* maps; /* of the arguments before them */
  int64_t map_count;
} mlc_device_kernel;

/* A library for GPUs. Steps have no phases; their shared scratch is in the GPU's memory. */
typedef struct mlc_device_image {
  mlc_image base; /* first: what a mlc_table points at */
  const mlc_device_kernel* kernels;
  mlc_packed_code binaries; /* for one architecture; none in tables for newer ones */
  mlc_packed_code texts;    /* for newer ones; none if a kernel has no text, or `newer` has them */
  const int32_t* step_kernels; /* one a step */
  int64_t counter_bytes;       /* maximum over the kernels; zero before and after every launch */
  int32_t kernel_count;
  int32_t compute;          /* of the binaries: compute capability times ten */
  int32_t arch_specific;    /* they run on devices of exactly this capability */
  int32_t portable_compute; /* of the texts; 0 if a kernel has none */
  int64_t upload_bytes;     /* of the weights, from their begin: what the kernels read */
  /* What newer devices run, from its texts; null: the texts of these kernels. Its steps, kernels
     and sizes may differ, nothing else. */
  const struct mlc_device_image* newer;
} mlc_device_image;

/* What NAME_model points at: the public table, with the image behind it. */
typedef struct mlc_table {
  mlc_model_api api;
  const mlc_image* image;
} mlc_table;

#ifdef __cplusplus
}
#endif

#endif
