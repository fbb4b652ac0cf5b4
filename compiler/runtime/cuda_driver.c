#include "compiler/runtime/cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Libraries of kernels, which are independent of contexts, are as old as this. */
#define OLDEST_DRIVER 12000

typedef struct {
  const char* symbol;
  size_t offset; /* of the entry in mlc_cuda */
} entry;

static const entry entries[] = {
    {"cuDriverGetVersion", offsetof(mlc_cuda, driver_get_version)},
    {"cuInit", offsetof(mlc_cuda, init)},
    {"cuGetErrorName", offsetof(mlc_cuda, get_error_name)},
    {"cuGetErrorString", offsetof(mlc_cuda, get_error_string)},
    {"cuDeviceGetCount", offsetof(mlc_cuda, device_get_count)},
    {"cuDeviceGet", offsetof(mlc_cuda, device_get)},
    {"cuDeviceGetAttribute", offsetof(mlc_cuda, device_get_attribute)},
    {"cuDeviceGetName", offsetof(mlc_cuda, device_get_name)},
    {"cuDeviceGetUuid_v2", offsetof(mlc_cuda, device_get_uuid)},
    {"cuDeviceGetPCIBusId", offsetof(mlc_cuda, device_get_pci_bus_id)},
    {"cuDeviceTotalMem_v2", offsetof(mlc_cuda, device_total_mem)},
    {"cuDevicePrimaryCtxRetain", offsetof(mlc_cuda, primary_ctx_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(mlc_cuda, primary_ctx_release)},
    {"cuCtxSetCurrent", offsetof(mlc_cuda, ctx_set_current)},
    {"cuCtxPushCurrent_v2", offsetof(mlc_cuda, ctx_push_current)},
    {"cuCtxPopCurrent_v2", offsetof(mlc_cuda, ctx_pop_current)},
    {"cuCtxSynchronize", offsetof(mlc_cuda, ctx_synchronize)},
    {"cuLibraryLoadData", offsetof(mlc_cuda, library_load_data)},
    {"cuLibraryUnload", offsetof(mlc_cuda, library_unload)},
    {"cuLibraryGetKernel", offsetof(mlc_cuda, library_get_kernel)},
    {"cuKernelGetFunction", offsetof(mlc_cuda, kernel_get_function)},
    {"cuFuncSetAttribute", offsetof(mlc_cuda, func_set_attribute)},
    {"cuLaunchKernelEx", offsetof(mlc_cuda, launch_kernel_ex)},
    {"cuTensorMapEncodeTiled", offsetof(mlc_cuda, tensor_map_encode_tiled)},
    {"cuMemAlloc_v2", offsetof(mlc_cuda, mem_alloc)},
    {"cuMemFree_v2", offsetof(mlc_cuda, mem_free)},
    {"cuMemAllocHost_v2", offsetof(mlc_cuda, mem_alloc_host)},
    {"cuMemFreeHost", offsetof(mlc_cuda, mem_free_host)},
    {"cuMemcpyHtoDAsync_v2", offsetof(mlc_cuda, memcpy_htod_async)},
    {"cuMemcpyDtoHAsync_v2", offsetof(mlc_cuda, memcpy_dtoh_async)},
    {"cuMemcpyDtoDAsync_v2", offsetof(mlc_cuda, memcpy_dtod_async)},
    {"cuMemcpy2DAsync_v2", offsetof(mlc_cuda, memcpy_2d_async)},
    {"cuMemsetD8Async", offsetof(mlc_cuda, memset_d8_async)},
    {"cuMemsetD32Async", offsetof(mlc_cuda, memset_d32_async)},
    {"cuStreamCreate", offsetof(mlc_cuda, stream_create)},
    {"cuStreamDestroy_v2", offsetof(mlc_cuda, stream_destroy)},
    {"cuStreamSynchronize", offsetof(mlc_cuda, stream_synchronize)},
    {"cuStreamWaitEvent", offsetof(mlc_cuda, stream_wait_event)},
    {"cuStreamBeginCapture_v2", offsetof(mlc_cuda, stream_begin_capture)},
    {"cuStreamEndCapture", offsetof(mlc_cuda, stream_end_capture)},
    {"cuStreamIsCapturing", offsetof(mlc_cuda, stream_is_capturing)},
    {"cuEventCreate", offsetof(mlc_cuda, event_create)},
    {"cuEventDestroy_v2", offsetof(mlc_cuda, event_destroy)},
    {"cuEventRecord", offsetof(mlc_cuda, event_record)},
    {"cuEventSynchronize", offsetof(mlc_cuda, event_synchronize)},
    {"cuEventElapsedTime", offsetof(mlc_cuda, event_elapsed_time)},
    {"cuGraphInstantiateWithFlags", offsetof(mlc_cuda, graph_instantiate)},
    {"cuGraphExecUpdate_v2", offsetof(mlc_cuda, graph_exec_update)},
    {"cuGraphUpload", offsetof(mlc_cuda, graph_upload)},
    {"cuGraphLaunch", offsetof(mlc_cuda, graph_launch)},
    {"cuGraphExecDestroy", offsetof(mlc_cuda, graph_exec_destroy)},
    {"cuGraphDestroy", offsetof(mlc_cuda, graph_destroy)},
};

/* The name of the first entry that the driver lacks, or NULL. */
static const char* fill(mlc_cuda* cuda, void* library) {
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
    void* const found = dlsym(library, entries[i].symbol);
    if (found == NULL) return entries[i].symbol;
    memcpy((char*)cuda + entries[i].offset, &found, sizeof(found));
  }
  return NULL;
}

static int open_failed(char* error, size_t size, const char* what) {
  snprintf(error, size, "%s", what);
  return -1;
}

int mlc_cuda_open(mlc_cuda* cuda, char* error, size_t error_size) {
  memset(cuda, 0, sizeof(*cuda));
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    return open_failed(error, error_size,
                       "no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver, or in "
                       "a container pass the GPU through (--gpus all)");
  }
  const char* const missing = fill(cuda, library);
  int (*version)(int*) = cuda->driver_get_version;
  if (version != NULL) (void)version(&cuda->version);
  if (missing != NULL || cuda->version < OLDEST_DRIVER) {
    snprintf(error, error_size,
             "the NVIDIA driver is too old: it serves CUDA %d.%d%s%s; install one for CUDA 12.0 or "
             "newer",
             cuda->version / 1000, cuda->version % 1000 / 10, missing == NULL ? "" : " without ",
             missing == NULL ? "" : missing);
    return -1;
  }
  const int result = cuda->init(0);
  int count = 0;
  if (result == MLC_CUDA_NO_DEVICE ||
      (result == MLC_CUDA_SUCCESS && cuda->device_get_count(&count) == 0 && count == 0)) {
    return open_failed(error, error_size,
                       "no CUDA device: the driver sees none; check nvidia-smi and "
                       "CUDA_VISIBLE_DEVICES");
  }
  if (result != MLC_CUDA_SUCCESS) {
    char text[160];
    mlc_cuda_error_text(cuda, result, text, sizeof(text));
    snprintf(error, error_size, "the NVIDIA driver does not start: %s; check nvidia-smi", text);
    return -1;
  }
  return 0;
}

void mlc_cuda_error_text(const mlc_cuda* cuda, int result, char* text, size_t size) {
  const char* name = NULL;
  const char* words = NULL;
  if (cuda->get_error_name != NULL) (void)cuda->get_error_name(result, &name);
  if (cuda->get_error_string != NULL) (void)cuda->get_error_string(result, &words);
  if (name == NULL) {
    snprintf(text, size, "CUDA error %d", result);
  } else {
    snprintf(text, size, "%s (%s)", name, words == NULL ? "" : words);
  }
}

int mlc_cuda_query_device(const mlc_cuda* cuda, int ordinal, mlc_cuda_device_facts* facts) {
  enum { CLOCK = 13, SMS = 16, L2 = 38, MAJOR = 75, MINOR = 76, SM_BYTES = 81, BLOCK_BYTES = 97 };
  memset(facts, 0, sizeof(*facts));
  mlc_cu_device device = 0;
  int major = 0;
  int minor = 0;
  const struct {
    int attribute;
    int* value;
  } wanted[] = {{CLOCK, &facts->clock_khz},
                {SMS, &facts->sms},
                {L2, &facts->l2_bytes},
                {MAJOR, &major},
                {MINOR, &minor},
                {SM_BYTES, &facts->sm_bytes},
                {BLOCK_BYTES, &facts->block_bytes}};
  int result = cuda->device_get(&device, ordinal);
  for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && result == 0; ++i) {
    result = cuda->device_get_attribute(wanted[i].value, wanted[i].attribute, device);
  }
  facts->compute = 10 * major + minor;
  if (result == 0) result = cuda->device_get_name(facts->name, sizeof(facts->name), device);
  if (result == 0) result = cuda->device_get_pci_bus_id(facts->pci, sizeof(facts->pci), device);
  if (result == 0) result = cuda->device_get_uuid(facts->uuid, device);
  if (result == 0) result = cuda->device_total_mem(&facts->memory_bytes, device);
  return result;
}

int mlc_cuda_launch(const mlc_cuda* cuda, mlc_cu_function function, mlc_cuda_dim3 grid,
                    mlc_cuda_dim3 block, uint32_t block_bytes, mlc_cu_stream stream,
                    void** parameters, int programmatic) {
  mlc_cu_launch_attribute serialization = {MLC_CUDA_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION, 0, {1}};
  const mlc_cu_launch_config config = {.grid = grid,
                                       .block = block,
                                       .block_bytes = block_bytes,
                                       .stream = stream,
                                       .attributes = &serialization,
                                       .attribute_count = programmatic ? 1 : 0};
  return cuda->launch_kernel_ex(&config, function, parameters, NULL);
}
