#include "compiler/runtime/tensor_map.h"

int mlc_cuda_encode_tensor_map(const mlc_cuda* cuda, const mlc_tensor_map* map,
                               const mlc_cu_ptr* arguments, mlc_cu_tensor_map* to) {
  enum { RANK = 2, NO_INTERLEAVE = 0, ZEROS = 0 };
  const uint64_t sizes[RANK] = {(uint64_t)map->depth, (uint64_t)map->rows};
  const uint64_t pitch = (uint64_t)map->pitch_bytes;
  const uint32_t box[RANK] = {(uint32_t)map->box_depth, (uint32_t)map->box_rows};
  const uint32_t steps[RANK] = {1, 1};
  const mlc_cu_ptr address = arguments[map->argument] + (mlc_cu_ptr)map->byte_offset;
  return cuda->tensor_map_encode_tiled(to, map->type, RANK, (void*)(uintptr_t)address, sizes,
                                       &pitch, box, steps, NO_INTERLEAVE, map->swizzle,
                                       map->promotion, ZEROS);
}
