/* Copies of rows in the memory of a GPU. C11. */
#ifndef MLC_COMPILER_RUNTIME_CUDA_ROWS_H_
#define MLC_COMPILER_RUNTIME_CUDA_ROWS_H_

#include "compiler/runtime/cuda_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The driver's description of a copy. */
enum { MLC_CUDA_MEMORY_OF_DEVICE = 2 };
typedef struct mlc_cu_copy_2d {
  size_t from_x, from_y;
  int from_type;
  const void* from_host;
  mlc_cu_ptr from;
  void* from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  int to_type;
  void* to_host;
  mlc_cu_ptr to;
  void* to_array;
  size_t to_pitch;
  size_t width, height;
} mlc_cu_copy_2d;

/* Rows in the device's memory. */
typedef struct mlc_cuda_rows {
  mlc_cu_ptr first;
  int64_t pitch; /* bytes from one to the next */
} mlc_cuda_rows;

/* Copies `count` rows of `bytes` each. */
int mlc_cuda_copy_rows(const mlc_cuda* cuda, mlc_cuda_rows to, mlc_cuda_rows from, int64_t bytes,
                       int64_t count, mlc_cu_stream stream);

#ifdef __cplusplus
}
#endif

#endif
