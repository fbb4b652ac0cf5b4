/* Memory of the device, and copies. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/cuda_rows.h"
#include "driver.h"

int cuMemAlloc_v2(mlc_cu_ptr* address, size_t bytes) {
  const int result = fake_failure("cuMemAlloc");
  if (result != 0) return result;
  void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == NULL) return 2;
  memset(memory, 0xff, bytes); /* what nobody wrote shows */
  *address = (mlc_cu_ptr)(uintptr_t)memory;
  ++fake_held;
  return 0;
}
int cuMemFree_v2(mlc_cu_ptr address) {
  free((void*)(uintptr_t)address);
  --fake_held;
  return 0;
}
int cuMemAllocHost_v2(void** memory, size_t bytes) {
  const int result = fake_failure("cuMemAllocHost");
  if (result != 0) return result;
  *memory = malloc(bytes);
  ++fake_held;
  return *memory == NULL ? 2 : 0;
}
int cuMemFreeHost(void* memory) {
  free(memory);
  --fake_held;
  return 0;
}
int cuMemcpyHtoDAsync_v2(mlc_cu_ptr to, const void* from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  fake_note("htod %zu\n", bytes);
  memcpy((void*)(uintptr_t)to, from, bytes);
  return fake_failure("cuMemcpyHtoDAsync");
}
int cuMemcpyDtoHAsync_v2(void* to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  fake_note("dtoh %zu\n", bytes);
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return fake_failure("cuMemcpyDtoHAsync");
}
int cuMemcpyDtoDAsync_v2(mlc_cu_ptr to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, bytes);
  return 0;
}
int cuMemcpy2DAsync_v2(const mlc_cu_copy_2d* copy, mlc_cu_stream stream) {
  (void)stream;
  fake_note("rows %zu of %zu\n", copy->height, copy->width);
  for (size_t i = 0; i < copy->height; ++i) {
    memcpy((char*)(uintptr_t)copy->to + i * copy->to_pitch,
           (const char*)(uintptr_t)copy->from + i * copy->from_pitch, copy->width);
  }
  return 0;
}
int cuMemsetD32Async(mlc_cu_ptr to, unsigned value, size_t count, mlc_cu_stream stream) {
  (void)stream;
  for (size_t i = 0; i < count; ++i) ((unsigned*)(uintptr_t)to)[i] = value;
  return 0;
}
int cuMemsetD8Async(mlc_cu_ptr to, unsigned char value, size_t count, mlc_cu_stream stream) {
  (void)stream;
  memset((void*)(uintptr_t)to, value, count);
  return 0;
}
