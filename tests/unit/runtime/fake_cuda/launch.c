/* Code, kernels and what they compute. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/tensor_map.h"
#include "driver.h"
#include "fake_cuda.h"

enum { kFloats = 4 };

static struct CUkern_st* kernels;
static int (*count_arguments)(const char* function);
static void (*compute)(const char* function, const unsigned long long* arguments);

void fake_cuda_compute(int (*count)(const char* function),
                       void (*run)(const char* function, const unsigned long long* arguments)) {
  count_arguments = count;
  compute = run;
}

int cuLibraryLoadData(mlc_cu_library* library, const void* image, int* jit_options,
                      void** jit_values, unsigned jit_count, int* options, void** values,
                      unsigned count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  const int result = fake_failure("cuLibraryLoadData");
  if (result != 0) return result;
  *library = malloc(sizeof **library);
  (*library)->code = image;
  const char* const code = image;
  /* Real text begins with a comment. */
  const int is_text = strncmp(code, "FAKETEXT", 8) == 0 || code[0] == '/';
  fake_note("load %s\n", is_text ? "text" : "binary");
  ++fake_held;
  return 0;
}
int cuLibraryUnload(mlc_cu_library library) {
  free(library);
  --fake_held;
  return 0;
}
int cuLibraryGetKernel(mlc_cu_kernel* kernel, mlc_cu_library library, const char* name) {
  /* Real code is not searched: it does not say its length. */
  const int fake = strncmp(library->code, "FAKE", 4) == 0;
  if (fake && strstr(library->code, name) == NULL) return 500;
  *kernel = calloc(1, sizeof **kernel);
  snprintf((*kernel)->name, sizeof(*kernel)->name, "%s", name);
  (*kernel)->next = kernels; /* kept to the end, as functions are the driver's */
  kernels = *kernel;
  return 0;
}
int cuKernelGetFunction(mlc_cu_function* function, mlc_cu_kernel kernel) {
  *function = (mlc_cu_function)(void*)kernel;
  return 0;
}
int cuFuncSetAttribute(mlc_cu_function function, int attribute, int value) {
  fake_note("attribute %s %d=%d\n", ((const struct CUkern_st*)(void*)function)->name, attribute,
            value);
  return 0;
}

/* A map holds the address and the extents that it was made of. */
int cuTensorMapEncodeTiled(mlc_cu_tensor_map* map, int type, uint32_t rank, void* address,
                           const uint64_t* sizes, const uint64_t* pitches, const uint32_t* box,
                           const uint32_t* steps, int interleave, int swizzle, int promotion,
                           int fill) {
  (void)interleave, (void)fill;
  const int result = fake_failure("cuTensorMapEncodeTiled");
  if (result != 0) return result;
  if (rank < 2 || rank > MLC_TENSOR_MAP_MAX_RANK || steps[0] != 1) return 1;
  if ((uintptr_t)map % 64 != 0 || (uintptr_t)address % 16 != 0) return 1;
  map->words[0] = (uint64_t)(uintptr_t)address;
  fake_note("map type=%d swizzle=%d promotion=%d", type, swizzle, promotion);
  for (uint32_t d = 0; d < rank; ++d) {
    fake_note(" %s%u of %lu", d == 0 ? "" : "by ", box[d], (unsigned long)sizes[d]);
    if (d > 0) fake_note(" at %lu*%u", (unsigned long)pitches[d - 1], steps[d]);
  }
  fake_note("\n");
  return 0;
}

static int EndsWith(const char* text, const char* end) {
  const size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}

/* "4", or "4,2,1" where it is no line. */
static const char* Extents(char* text, size_t size, mlc_cuda_dim3 extent) {
  const int line = extent.y == 1 && extent.z == 1;
  snprintf(text, size, line ? "%u" : "%u,%u,%u", extent.x, extent.y, extent.z);
  return text;
}

/* add: c = a + b; scale: b = 2 a; count: the counter must be zero and is left so, b = a + 1;
   fetch: b is what lies where the first map says. */
void fake_execute(const fake_call* c) {
  const char* name = c->kernel->name;
  char blocks[40], threads[40];
  fake_note("launch %s blocks=%s threads=%s bytes=%u programmatic=%d\n", name,
            Extents(blocks, sizeof blocks, c->config.grid),
            Extents(threads, sizeof threads, c->config.block), c->config.block_bytes,
            c->programmatic);
  fake_now_ms += 0.001;
  if (compute != NULL) {
    unsigned long long arguments[kParameters];
    for (int i = 0; i < kParameters; ++i) arguments[i] = c->arguments[i];
    compute(name, arguments);
    return;
  }
  float* operands[kParameters];
  for (int i = 0; i < kParameters; ++i) operands[i] = (float*)(uintptr_t)c->arguments[i];
  for (int i = 0; i < kFloats; ++i) {
    if (EndsWith(name, "_add")) operands[2][i] = operands[0][i] + operands[1][i];
    if (EndsWith(name, "_scale")) operands[1][i] = 2 * operands[0][i];
    if (EndsWith(name, "_fetch")) operands[1][i] = operands[4][i];
    if (EndsWith(name, "_count")) {
      operands[1][i] = operands[0][i] + (*(int*)(void*)operands[3] == 0 ? 1 : 100);
    }
  }
}

static int ArgumentsOf(const char* name) {
  if (EndsWith(name, "_add") || EndsWith(name, "_fetch")) return 5;
  return EndsWith(name, "_scale") || EndsWith(name, "_count") ? 4 : 0;
}

int cuLaunchKernelEx(const mlc_cu_launch_config* config, mlc_cu_function function,
                     void** parameters, void** extra) {
  (void)extra;
  const int result = fake_failure("cuLaunchKernelEx");
  if (result != 0) return result;
  static fake_call c;
  c.kernel = (const struct CUkern_st*)(void*)function;
  c.config = *config;
  c.programmatic = config->attribute_count > 0;
  const int count =
      count_arguments != NULL ? count_arguments(c.kernel->name) : ArgumentsOf(c.kernel->name);
  if (count > kParameters) return 1;
  for (int i = 0; i < count; ++i) memcpy(&c.arguments[i], parameters[i], 8);
  struct CUgraph_st* graph = config->stream == NULL ? NULL : config->stream->captured;
  if (graph == NULL) {
    fake_execute(&c);
  } else if (graph->count == kCalls) {
    return 2;
  } else {
    graph->calls[graph->count++] = c;
  }
  return 0;
}
