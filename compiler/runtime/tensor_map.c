#include "compiler/runtime/tensor_map.h"

int mlc_cuda_encode_tensor_map(const mlc_cuda* cuda, const mlc_tensor_map* map,
                               const mlc_cu_ptr* arguments, mlc_cu_tensor_map* to) {
  enum { MAX_RANK = MLC_TENSOR_MAP_MAX_RANK, NO_INTERLEAVE = 0, ZEROS = 0 };
  uint64_t sizes[MAX_RANK], pitches[MAX_RANK - 1];
  uint32_t boxes[MAX_RANK], steps[MAX_RANK] = {1};
  for (int d = 0; d < MAX_RANK; ++d) {
    sizes[d] = (uint64_t)map->sizes[d];
    boxes[d] = (uint32_t)map->boxes[d];
    if (d == 0) continue;
    pitches[d - 1] = (uint64_t)map->pitches[d - 1];
    steps[d] = (uint32_t)map->steps[d - 1];
  }
  const mlc_cu_ptr address = arguments[map->argument] + (mlc_cu_ptr)map->byte_offset;
  return cuda->tensor_map_encode_tiled(to, map->type, (uint32_t)map->rank,
                                       (void*)(uintptr_t)address, sizes, pitches, boxes, steps,
                                       NO_INTERLEAVE, map->swizzle, map->promotion, ZEROS);
}
