/* Maps of matrices in a GPU's memory, from which one thread of a kernel copies whole boxes to
   on-chip memory: how a kernel's are described, and how the driver encodes them for the addresses
   of a launch. C11 and libc only; thread-safe. */
#ifndef MLC_COMPILER_RUNTIME_TENSOR_MAP_H_
#define MLC_COMPILER_RUNTIME_TENSOR_MAP_H_

#include "compiler/runtime/cuda_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MLC_TENSOR_MAP_MAX_RANK = 5 };

/* The driver's numbers. */
enum {
  MLC_TENSOR_MAP_U8 = 0,
  MLC_TENSOR_MAP_F16 = 6,
  MLC_TENSOR_MAP_F32 = 7,
  MLC_TENSOR_MAP_BF16 = 9,
  MLC_TENSOR_MAP_SWIZZLE_128 = 3,
  MLC_TENSOR_MAP_NO_PROMOTION = 0,
  MLC_TENSOR_MAP_PROMOTE_128 = 2,
  MLC_TENSOR_MAP_PROMOTE_256 = 3
};

/* One map of a kernel: of rows of elements that lie together, and of up to four dimensions of such
   rows. Dimensions are listed from the innermost, the elements of a row; what is behind the last
   is zero. What a copy reads outside of the matrix is zero. */
typedef struct mlc_tensor_map {
  int64_t byte_offset;                          /* of the matrix from its argument's address */
  int64_t sizes[MLC_TENSOR_MAP_MAX_RANK];       /* elements of a row, rows, ... */
  int64_t pitches[MLC_TENSOR_MAP_MAX_RANK - 1]; /* bytes from one row to the next, ...; multiples
                                                   of 16 */
  int32_t argument;                             /* of the kernel: the matrix's address */
  int32_t type;                                 /* of its elements */
  int32_t rank;                                 /* 2 or more */
  int32_t boxes[MLC_TENSOR_MAP_MAX_RANK];       /* what a copy goes over; at most 256 of each */
  int32_t steps[MLC_TENSOR_MAP_MAX_RANK - 1];   /* of a row, ... within it: 2 copies each other
                                                   one; 1 to 8 */
  int32_t swizzle;                              /* of a box in on-chip memory */
  int32_t promotion;                            /* what L2 fetches more than was asked for */
} mlc_tensor_map;

/* A map as kernels take it, by value. */
typedef struct mlc_cu_tensor_map {
#ifdef __cplusplus
  alignas(64)
#else
  _Alignas(64)
#endif
      uint64_t words[16];
} mlc_cu_tensor_map;

/* Encodes the map for a launch with these arguments. The driver's result. */
int mlc_cuda_encode_tensor_map(const mlc_cuda* cuda, const mlc_tensor_map* map,
                               const mlc_cu_ptr* arguments, mlc_cu_tensor_map* to);

#ifdef __cplusplus
}
#endif

#endif
