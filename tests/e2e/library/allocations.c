#include "allocations.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

static atomic_long held;
static atomic_long until_failure;

long AllocationsHeld(void) { return atomic_load(&held); }
void FailAllocation(long n) { atomic_store(&until_failure, n); }

static int Fails(void) {
  return atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1;
}

void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void* block);
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void* at, size_t bytes);

static void* Count(void* block) {
  if (block != NULL) atomic_fetch_add(&held, 1);
  return block;
}

void* __wrap_malloc(size_t bytes) { return Fails() ? NULL : Count(__real_malloc(bytes)); }

void* __wrap_calloc(size_t count, size_t bytes) {
  return Fails() ? NULL : Count(__real_calloc(count, bytes));
}

void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return Fails() ? NULL : Count(__real_aligned_alloc(alignment, bytes));
}

void __wrap_free(void* block) {
  if (block != NULL) atomic_fetch_sub(&held, 1);
  __real_free(block);
}

void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (Fails()) return MAP_FAILED;
  void* mapping = __real_mmap(at, bytes, protection, flags, fd, offset);
  if (mapping != MAP_FAILED) atomic_fetch_add(&held, 1);
  return mapping;
}

int __wrap_munmap(void* at, size_t bytes) {
  atomic_fetch_sub(&held, 1);
  return __real_munmap(at, bytes);
}
