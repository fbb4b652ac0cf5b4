/* A CUDA driver and a CUPTI that pretend, in one library: device memory is host memory, streams are
   synchronous, and an image is a word that says what its kernels do to (in, out, ...):
     right N     out[i] = 2 in[i] for N floats, in 5000 ns
     wrong N     the same, but one element
     race N      another result each time
     overrun N   right, and one element more
     illegal     an error that sticks to the context
     hang        never ends
     crash       ends the process
     flood       writes into the process's pipes, the beginning of a long message and then for ever
   Any other image does nothing. FAKE_IMAGE stands for whatever image is loaded. FAKE_CARD names a
   file that is locked from a kernel's launch until the stream is synchronised: a launch while
   another process holds it fails, as if two had met on the card. FAKE_LAUNCH ("64,8,2 32,4,1 0") is
   the grid, block and dynamic shared memory that every kernel is to be launched with: others fail.
   More than 48 KiB of it has to be asked for before. With FAKE_REACHES_HOST kernels reach all
   memory of their process. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/runtime/cuda_driver.h"
#include "compiler/runtime/tensor_map.h"

typedef struct {
  char image[64];
} fake_library;
typedef struct {
  char name[64];
  char image[64];
  int block_bytes; /* that it may ask for; 0: as many as all may */
} fake_function;
typedef struct {
  uint64_t start, end;
  uint32_t correlation;
} fake_record;

enum { RECORD_BYTES = 208, MOST_RECORDS = 4096 };
static int sticky;
static uint64_t now = 1000;
static uint32_t correlation;
static fake_record records[MOST_RECORDS];
static int record_count;
static int launches;

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuInit(unsigned flags) { return (int)flags; }
int cuGetErrorName(int result, const char** name) {
  *name = result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
  return 0;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == 700 ? "an illegal memory access was encountered" : "other";
  return 0;
}
int cuDeviceGetCount(int* count) {
  const char* wanted = getenv("FAKE_GPUS");
  *count = wanted != NULL ? atoi(wanted) : 2;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 13:
      *value = 1980000;
      return 0;
    case 16:
      *value = 132;
      return 0;
    case 38:
      *value = 1 << 20;
      return 0;
    case 75:
      *value = 9;
      return 0;
    case 76:
      *value = 0;
      return 0;
    case 81:
      *value = 233472;
      return 0;
    case 88:
      *value = getenv("FAKE_REACHES_HOST") != NULL;
      return 0;
    case 97:
      *value = 232448;
      return 0;
    default:
      return 1;
  }
}
int cuDeviceGetName(char* name, int size, int device) {
  snprintf(name, (size_t)size, "Fake GPU %d", device);
  return 0;
}
int cuDeviceGetUuid_v2(void* uuid, int device) {
  memset(uuid, device, 16);
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  snprintf(text, (size_t)size, "0000:%02x:00.0", device);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)8 << 30;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = &sticky;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device * 0; }
int cuCtxSetCurrent(void* context) { return context == NULL; }
int cuCtxGetCurrent(void** context) {
  *context = &sticky;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) { return context == NULL; }
int cuCtxPopCurrent_v2(void** context) { return cuCtxGetCurrent(context); }
int cuCtxSynchronize(void) { return sticky; }

int cuLibraryLoadData(void** library, const void* image, void* a, void* b, unsigned c, void* d,
                      void* e, unsigned f) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  if (strcmp(image, "no image") == 0) return 200;
  fake_library* made = calloc(1, sizeof(*made));
  const char* wanted = getenv("FAKE_IMAGE");
  snprintf(made->image, sizeof(made->image), "%s", wanted != NULL ? wanted : (const char*)image);
  *library = made;
  return 0;
}
int cuLibraryUnload(void* library) {
  free(library);
  return 0;
}
int cuLibraryGetKernel(void** kernel, fake_library* library, const char* name) {
  fake_function* made = calloc(1, sizeof(*made));
  snprintf(made->name, sizeof(made->name), "%s", name);
  memcpy(made->image, library->image, sizeof(made->image));
  *kernel = made;
  return 0;
}
int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return 0;
}
int cuFuncSetAttribute(fake_function* function, int attribute, int value) {
  if (attribute == MLC_CUDA_FUNC_MAX_BLOCK_BYTES) function->block_bytes = value;
  return value < 0;
}

static void flood(void) {
  static const char block[65536] = {0, 0, 0, 3}; /* a message of 48 MiB */
  for (int file = 3; file < 256; ++file) {
    struct stat found;
    if (fstat(file, &found) != 0 || !S_ISFIFO(found.st_mode)) continue;
    /* Nobody reads pipes of the process itself, such as the driver's own. */
    while ((fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY &&
           write(file, block, sizeof(block)) > 0) {
    }
  }
}

static void compute(const char* image, const float* in, float* out) {
  char word[16] = "";
  int n = 0;
  (void)sscanf(image, "%15s %d", word, &n);
  if (strcmp(word, "hang") == 0) pause();
  if (strcmp(word, "crash") == 0) abort();
  if (strcmp(word, "flood") == 0) flood();
  if (strcmp(word, "illegal") == 0) sticky = 700;
  for (int i = 0; i < n; ++i) out[i] = 2 * in[i];
  if (strcmp(word, "wrong") == 0) out[n / 2] = 1e6F;
  if (strcmp(word, "race") == 0) out[0] *= 1 + (float)(launches % 2) * 1e-7F;
  if (strcmp(word, "overrun") == 0) out[n] = 1;
}

static int card = -1;

/* False if another process is on the card. */
static int enter_card(void) {
  const char* path = getenv("FAKE_CARD");
  if (path == NULL) return 1;
  if (card < 0) card = open(path, O_RDONLY | O_CLOEXEC);
  if (flock(card, LOCK_EX | LOCK_NB) != 0) return 0;
  usleep(50); /* a kernel takes its time */
  return 1;
}
static void leave_card(void) {
  if (card >= 0) flock(card, LOCK_UN);
}

static int is_service(const fake_function* function) {
  return strncmp(function->name, "mlc_service_", 12) == 0;
}

static int launches_so(const mlc_cu_launch_config* config, const fake_function* function) {
  const uint32_t most = function->block_bytes > 49152 ? (uint32_t)function->block_bytes : 49152;
  if (config->block_bytes > most) return 0;
  const char* wanted = getenv("FAKE_LAUNCH");
  if (wanted == NULL || is_service(function)) return 1;
  char text[100];
  snprintf(text, sizeof(text), "%u,%u,%u %u,%u,%u %u", config->grid.x, config->grid.y,
           config->grid.z, config->block.x, config->block.y, config->block.z, config->block_bytes);
  return strcmp(text, wanted) == 0;
}

int cuLaunchKernelEx(const mlc_cu_launch_config* config, fake_function* function, void** parameters,
                     void** extra) {
  (void)extra;
  if (sticky != 0) return sticky;
  if (!launches_so(config, function)) return 1;
  ++launches;
  if (strcmp(function->name, "mlc_service_clock") == 0) {
    uint64_t* out = *(uint64_t**)parameters[0];
    out[0] = 40000;
    out[1] = 20000;
  } else if (!is_service(function)) {
    if (!enter_card()) sticky = 700;
    compute(function->image, *(float**)parameters[0], *(float**)parameters[1]);
  }
  if (record_count < MOST_RECORDS) {
    records[record_count++] = (fake_record){now, now + 5000, ++correlation};
  }
  now += 6000;
  return 0;
}

int cuTensorMapEncodeTiled(mlc_cu_tensor_map* map, int type, uint32_t rank, void* address,
                           const uint64_t* sizes, const uint64_t* pitches, const uint32_t* box,
                           const uint32_t* steps, int interleave, int swizzle, int promotion,
                           int fill) {
  (void)type, (void)rank, (void)sizes, (void)pitches, (void)box, (void)steps, (void)interleave;
  (void)swizzle, (void)promotion, (void)fill;
  map->words[0] = (uint64_t)(uintptr_t)address;
  return sticky;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *address == 0 ? 2 : 0;
}
int cuMemFree_v2(uint64_t address) {
  free((void*)(uintptr_t)address);
  return 0;
}
int cuMemAllocHost_v2(void** memory, size_t bytes) {
  *memory = malloc(bytes);
  return *memory == NULL ? 2 : 0;
}
int cuMemFreeHost(void* memory) {
  free(memory);
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  (void)stream;
  memcpy((void*)(uintptr_t)to, from, bytes);
  return sticky;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  (void)stream;
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return sticky;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  if (bytes >= (size_t)1 << 28) return sticky; /* for timing alone */
  return cuMemcpyHtoDAsync_v2(to, (void*)(uintptr_t)from, bytes, stream);
}
int cuMemcpy2DAsync_v2(const struct mlc_cu_copy_2d* copy, void* stream) {
  (void)copy, (void)stream; /* workers copy no rows */
  return sticky;
}
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
  (void)to, (void)value, (void)count, (void)stream; /* nor do they send lengths */
  return sticky;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void* stream) {
  (void)stream;
  memset((void*)(uintptr_t)to, value, count);
  return sticky;
}
int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  *stream = &now;
  return 0;
}
int cuStreamDestroy_v2(void* stream) { return stream == NULL; }
int cuStreamSynchronize(void* stream) {
  leave_card();
  return stream == NULL ? 1 : sticky;
}
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  (void)event, (void)flags;
  return stream == NULL;
}
int cuStreamBeginCapture_v2(void* stream, int mode) { return stream == NULL ? mode : 801; }
int cuStreamEndCapture(void* stream, void** graph) {
  *graph = stream;
  return 801;
}
int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = 0;
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  *event = &now;
  return 0;
}
int cuEventDestroy_v2(void* event) { return event == NULL; }
int cuEventRecord(void* event, void* stream) { return event == NULL || stream == NULL; }
int cuEventSynchronize(void* event) { return event == NULL; }
int cuEventElapsedTime(float* ms, void* start, void* end) {
  (void)start, (void)end;
  *ms = 2.5F;
  return 0;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long flags) {
  (void)graph, (void)flags;
  *exec = NULL;
  return 801;
}
int cuGraphExecUpdate_v2(void* exec, void* graph, void* info) {
  (void)exec, (void)graph, (void)info;
  return 801;
}
int cuGraphUpload(void* exec, void* stream) { return exec == stream ? 801 : 801; }
int cuGraphLaunch(void* exec, void* stream) { return exec == stream ? 801 : 801; }
int cuGraphExecDestroy(void* exec) { return exec == NULL; }
int cuGraphDestroy(void* graph) { return graph == NULL; }

/* CUPTI */

static void (*request)(uint8_t**, size_t*, size_t*);
static void (*complete)(void*, uint32_t, uint8_t*, size_t, size_t);

int cuptiGetVersion(uint32_t* version) {
  *version = 130000;
  return 0;
}
int cuptiGetResultString(int result, const char** text) {
  (void)result;
  *text = "CUPTI_ERROR";
  return 0;
}
int cuptiActivitySetAttribute(int attribute, size_t* size, void* value) {
  (void)attribute, (void)size;
  return value == NULL;
}
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) { return clock == NULL; }
int cuptiActivityRegisterCallbacks(void (*requested)(uint8_t**, size_t*, size_t*),
                                   void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t)) {
  request = requested;
  complete = completed;
  return 0;
}
int cuptiActivityEnable(uint32_t kind) { return kind != 10; }
int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* dropped) {
  (void)context, (void)stream;
  *dropped = 0;
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  uint8_t* next = *record == NULL ? buffer : (uint8_t*)*record + RECORD_BYTES;
  if (next + RECORD_BYTES > buffer + valid) return 12;
  *record = next;
  return 0;
}
int cuptiActivityFlushAll(uint32_t flag) {
  if (record_count == 0) return (int)flag;
  uint8_t* buffer = NULL;
  size_t size = 0;
  size_t most = 0;
  request(&buffer, &size, &most);
  /* Out of order, as the device may finish them. */
  for (int i = 0; i < record_count; ++i) {
    uint8_t* to = buffer + (size_t)(record_count - 1 - i) * RECORD_BYTES;
    const uint32_t kind = 10;
    memcpy(to, &kind, sizeof(kind));
    memcpy(to + 16, &records[i].start, 8);
    memcpy(to + 24, &records[i].end, 8);
    memcpy(to + 92, &records[i].correlation, 4);
  }
  complete(NULL, 0, buffer, size, (size_t)record_count * RECORD_BYTES);
  record_count = 0;
  return 0;
}
