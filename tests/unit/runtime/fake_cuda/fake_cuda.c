#include "fake_cuda.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/cuda_driver.h"

enum { kNotes = 1 << 20, kCalls = 1024, kParameters = 24, kFloats = 4 };

struct CUlib_st {
  const char* code;
};
struct CUkern_st {
  char name[64];
  struct CUkern_st* next;
};
typedef struct call {
  const struct CUkern_st* kernel;
  mlc_cu_launch_config config;
  int programmatic;
  uint64_t arguments[kParameters];
} call;
struct CUgraph_st {
  int count;
  call calls[kCalls];
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

static char notes[kNotes];
static size_t noted;
static int capability = 90, device_count = 1, version = 13000;
static char failing[64];
static int failing_in, failing_result;
static long held;
static double now_ms;
static struct CUkern_st* kernels;
static int context_depth;
static int (*count_arguments)(const char* function);
static void (*compute)(const char* function, const unsigned long long* arguments);

static void Note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (noted + 256 < sizeof notes) {
    noted += (size_t)vsnprintf(notes + noted, sizeof notes - noted, format, arguments);
  }
  va_end(arguments);
}

/* The result that the test wants of this call, 0 mostly. */
static int Fails(const char* name) {
  if (strcmp(name, failing) != 0 || failing_in == 0 || --failing_in > 0) return 0;
  return failing_result;
}

const char* fake_cuda_notes(void) { return notes; }
void fake_cuda_reset(void) {
  noted = 0;
  notes[0] = '\0';
  failing_in = 0;
  fake_cuda_device(90, 1, 13000);
}
void fake_cuda_device(int compute, int devices, int driver_version) {
  capability = compute;
  device_count = devices;
  version = driver_version;
}
void fake_cuda_fail(const char* name, int n, int result) {
  snprintf(failing, sizeof failing, "%s", name);
  failing_in = n;
  failing_result = result;
}
void fake_cuda_compute(int (*count)(const char* function),
                       void (*run)(const char* function, const unsigned long long* arguments)) {
  count_arguments = count;
  compute = run;
}
long fake_cuda_held(void) { return held; }

int cuDriverGetVersion(int* out) {
  *out = version;
  return 0;
}
int cuInit(unsigned flags) {
  (void)flags;
  return Fails("cuInit");
}
int cuGetErrorName(int result, const char** name) {
  *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_TEST";
  return 0;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == 700 ? "an illegal memory access was encountered" : "wanted";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = device_count;
  return 0;
}
int cuDeviceGet(mlc_cu_device* device, int ordinal) {
  *device = ordinal;
  return ordinal < device_count ? 0 : 101;
}
int cuDeviceGetAttribute(int* value, int attribute, mlc_cu_device device) {
  (void)device;
  switch (attribute) {
    case 13:
      *value = 1980000;
      break;
    case 16:
      *value = 132;
      break;
    case 38:
      *value = 62914560;
      break;
    case 75:
      *value = capability / 10;
      break;
    case 76:
      *value = capability % 10;
      break;
    case 81:
      *value = 233472;
      break;
    case 97:
      *value = 232448;
      break;
    default:
      *value = 0;
  }
  return 0;
}
int cuDeviceGetName(char* name, int size, mlc_cu_device device) {
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}
int cuDeviceGetUuid_v2(void* uuid, mlc_cu_device device) {
  memset(uuid, device, 16);
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, mlc_cu_device device) {
  snprintf(text, (size_t)size, "0000:%02x:00.0", device);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, mlc_cu_device device) {
  (void)device;
  *bytes = (size_t)1 << 34;
  return 0;
}
int cuDevicePrimaryCtxRetain(mlc_cu_context* context, mlc_cu_device device) {
  *context = (mlc_cu_context)(uintptr_t)(device + 1);
  ++held;
  return Fails("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(mlc_cu_device device) {
  (void)device;
  --held;
  return 0;
}
int cuCtxSetCurrent(mlc_cu_context context) {
  (void)context;
  return 0;
}
int cuCtxGetCurrent(mlc_cu_context* context) {
  *context = NULL;
  return 0;
}
int cuCtxPushCurrent_v2(mlc_cu_context context) {
  (void)context;
  ++context_depth;
  return 0;
}
int cuCtxPopCurrent_v2(mlc_cu_context* context) {
  *context = NULL;
  return --context_depth < 0 ? 201 : 0;
}
int cuCtxGetDevice(mlc_cu_device* device) {
  *device = 0;
  return 0;
}
int cuCtxSynchronize(void) { return 0; }

int cuLibraryLoadData(mlc_cu_library* library, const void* image, int* jit_options,
                      void** jit_values, unsigned jit_count, int* options, void** values,
                      unsigned count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  const int result = Fails("cuLibraryLoadData");
  if (result != 0) return result;
  *library = malloc(sizeof **library);
  (*library)->code = image;
  Note("load %s\n", strncmp(image, "FAKETEXT", 8) == 0 ? "text" : "binary");
  ++held;
  return 0;
}
int cuLibraryUnload(mlc_cu_library library) {
  free(library);
  --held;
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
int cuFuncGetAttribute(int* value, int attribute, mlc_cu_function function) {
  (void)attribute, (void)function;
  *value = 0;
  return 0;
}
int cuFuncSetAttribute(mlc_cu_function function, int attribute, int value) {
  Note("attribute %s %d=%d\n", ((const struct CUkern_st*)(void*)function)->name, attribute, value);
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, mlc_cu_function function, int threads,
                                                size_t bytes) {
  (void)function, (void)threads, (void)bytes;
  *blocks = 1;
  return 0;
}

static int EndsWith(const char* text, const char* end) {
  const size_t a = strlen(text), b = strlen(end);
  return a >= b && strcmp(text + a - b, end) == 0;
}

/* add: c = a + b; scale: b = 2 a; count: the counter must be zero and is left so, b = a + 1. */
static void Execute(const call* c) {
  const char* name = c->kernel->name;
  Note("launch %s blocks=%u threads=%u bytes=%u programmatic=%d\n", name, c->config.grid_x,
       c->config.block_x, c->config.block_bytes, c->programmatic);
  now_ms += 0.001;
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
    if (EndsWith(name, "_count")) {
      operands[1][i] = operands[0][i] + (*(int*)(void*)operands[3] == 0 ? 1 : 100);
    }
  }
}

static int ArgumentsOf(const char* name) {
  if (EndsWith(name, "_add")) return 5;
  return EndsWith(name, "_scale") || EndsWith(name, "_count") ? 4 : 0;
}

int cuLaunchKernelEx(const mlc_cu_launch_config* config, mlc_cu_function function,
                     void** parameters, void** extra) {
  (void)extra;
  const int result = Fails("cuLaunchKernelEx");
  if (result != 0) return result;
  static call c;
  c.kernel = (const struct CUkern_st*)(void*)function;
  c.config = *config;
  c.programmatic = config->attribute_count > 0;
  const int count =
      count_arguments != NULL ? count_arguments(c.kernel->name) : ArgumentsOf(c.kernel->name);
  if (count > kParameters) return 1;
  for (int i = 0; i < count; ++i) memcpy(&c.arguments[i], parameters[i], 8);
  struct CUgraph_st* graph = config->stream == NULL ? NULL : config->stream->captured;
  if (graph == NULL) {
    Execute(&c);
  } else if (graph->count == kCalls) {
    return 2;
  } else {
    graph->calls[graph->count++] = c;
  }
  return 0;
}

int cuMemAlloc_v2(mlc_cu_ptr* address, size_t bytes) {
  const int result = Fails("cuMemAlloc");
  if (result != 0) return result;
  void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == NULL) return 2;
  memset(memory, 0xff, bytes); /* what nobody wrote shows */
  *address = (mlc_cu_ptr)(uintptr_t)memory;
  ++held;
  return 0;
}
int cuMemFree_v2(mlc_cu_ptr address) {
  free((void*)(uintptr_t)address);
  --held;
  return 0;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  *free_bytes = *total = (size_t)1 << 34;
  return 0;
}
int cuMemAllocHost_v2(void** memory, size_t bytes) {
  const int result = Fails("cuMemAllocHost");
  if (result != 0) return result;
  *memory = malloc(bytes);
  ++held;
  return *memory == NULL ? 2 : 0;
}
int cuMemFreeHost(void* memory) {
  free(memory);
  --held;
  return 0;
}
int cuMemcpyHtoDAsync_v2(mlc_cu_ptr to, const void* from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  Note("htod %zu\n", bytes);
  memcpy((void*)(uintptr_t)to, from, bytes);
  return Fails("cuMemcpyHtoDAsync");
}
int cuMemcpyDtoHAsync_v2(void* to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  Note("dtoh %zu\n", bytes);
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return Fails("cuMemcpyDtoHAsync");
}
int cuMemcpyDtoDAsync_v2(mlc_cu_ptr to, mlc_cu_ptr from, size_t bytes, mlc_cu_stream stream) {
  (void)stream;
  memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, bytes);
  return 0;
}
int cuMemsetD8Async(mlc_cu_ptr to, unsigned char value, size_t count, mlc_cu_stream stream) {
  (void)stream;
  memset((void*)(uintptr_t)to, value, count);
  return 0;
}
int cuMemsetD32Async(mlc_cu_ptr to, unsigned value, size_t count, mlc_cu_stream stream) {
  (void)stream;
  for (size_t i = 0; i < count; ++i) ((unsigned*)(uintptr_t)to)[i] = value;
  return 0;
}
int cuStreamCreate(mlc_cu_stream* stream, unsigned flags) {
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  ++held;
  return 0;
}
int cuStreamDestroy_v2(mlc_cu_stream stream) {
  free(stream);
  --held;
  return 0;
}
int cuStreamSynchronize(mlc_cu_stream stream) {
  (void)stream;
  return Fails("cuStreamSynchronize");
}
int cuStreamQuery(mlc_cu_stream stream) {
  (void)stream;
  return 0;
}
int cuStreamWaitEvent(mlc_cu_stream stream, mlc_cu_event event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  Note("wait\n");
  return 0;
}
int cuStreamBeginCapture_v2(mlc_cu_stream stream, int mode) {
  (void)mode;
  stream->captured = calloc(1, sizeof *stream->captured);
  return Fails("cuStreamBeginCapture");
}
int cuStreamEndCapture(mlc_cu_stream stream, mlc_cu_graph* graph) {
  *graph = stream->captured;
  stream->captured = NULL;
  ++held;
  return 0;
}
int cuEventCreate(mlc_cu_event* event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof **event);
  ++held;
  return 0;
}
int cuEventDestroy_v2(mlc_cu_event event) {
  free(event);
  --held;
  return 0;
}
int cuEventRecord(mlc_cu_event event, mlc_cu_stream stream) {
  (void)stream;
  event->at = now_ms;
  return 0;
}
int cuEventSynchronize(mlc_cu_event event) {
  (void)event;
  return 0;
}
int cuEventQuery(mlc_cu_event event) {
  (void)event;
  return 0;
}
int cuEventElapsedTime(float* milliseconds, mlc_cu_event start, mlc_cu_event end) {
  *milliseconds = (float)(end->at - start->at);
  return 0;
}
int cuGraphInstantiateWithFlags(mlc_cu_graph_exec* exec, mlc_cu_graph graph,
                                unsigned long long flags) {
  (void)flags;
  const int result = Fails("cuGraphInstantiateWithFlags");
  if (result != 0) return result;
  *exec = malloc(sizeof **exec);
  (*exec)->graph = *graph;
  Note("instantiate %d\n", graph->count);
  ++held;
  return 0;
}
int cuGraphExecUpdate_v2(mlc_cu_graph_exec exec, mlc_cu_graph graph, mlc_cu_graph_update* info) {
  (void)info;
  const int result = Fails("cuGraphExecUpdate");
  if (result != 0) return result;
  exec->graph = *graph;
  Note("update %d\n", graph->count);
  return 0;
}
int cuGraphUpload(mlc_cu_graph_exec exec, mlc_cu_stream stream) {
  (void)exec, (void)stream;
  return 0;
}
int cuGraphLaunch(mlc_cu_graph_exec exec, mlc_cu_stream stream) {
  (void)stream;
  const int result = Fails("cuGraphLaunch");
  if (result != 0) return result;
  Note("graph_launch %d\n", exec->graph.count);
  for (int i = 0; i < exec->graph.count; ++i) Execute(&exec->graph.calls[i]);
  return 0;
}
int cuGraphExecDestroy(mlc_cu_graph_exec exec) {
  free(exec);
  --held;
  return 0;
}
int cuGraphDestroy(mlc_cu_graph graph) {
  free(graph);
  --held;
  return 0;
}
