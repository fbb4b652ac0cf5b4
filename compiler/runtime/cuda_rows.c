#include "compiler/runtime/cuda_rows.h"

int mlc_cuda_copy_rows(const mlc_cuda* cuda, mlc_cuda_rows to, mlc_cuda_rows from, int64_t bytes,
                       int64_t count, mlc_cu_stream stream) {
  if (count == 1 || (to.pitch == bytes && from.pitch == bytes)) {
    return cuda->memcpy_dtod_async(to.first, from.first, (size_t)(bytes * count), stream);
  }
  const mlc_cu_copy_2d copy = {.from_type = MLC_CUDA_MEMORY_OF_DEVICE,
                               .from = from.first,
                               .from_pitch = (size_t)from.pitch,
                               .to_type = MLC_CUDA_MEMORY_OF_DEVICE,
                               .to = to.first,
                               .to_pitch = (size_t)to.pitch,
                               .width = (size_t)bytes,
                               .height = (size_t)count};
  return cuda->memcpy_2d_async(&copy, stream);
}
