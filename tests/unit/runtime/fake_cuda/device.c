/* Devices and contexts. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "fake_cuda.h"

static int capability = 90, device_count = 1, version = 13000;
static int context_depth;

void fake_cuda_device(int compute, int devices, int driver_version) {
  capability = compute;
  device_count = devices;
  version = driver_version;
}

int cuDriverGetVersion(int* out) {
  *out = version;
  return 0;
}
int cuInit(unsigned flags) {
  (void)flags;
  return fake_failure("cuInit");
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
static int SmallBlocks(void) { return capability == 86 || capability == 89 || capability == 120; }
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
      *value = SmallBlocks() ? 102400 : 233472;
      break;
    case 97:
      *value = SmallBlocks() ? 101376 : 232448;
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
  ++fake_held;
  return fake_failure("cuDevicePrimaryCtxRetain");
}
int cuDevicePrimaryCtxRelease_v2(mlc_cu_device device) {
  (void)device;
  --fake_held;
  return 0;
}
int cuCtxSetCurrent(mlc_cu_context context) {
  (void)context;
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
int cuCtxSynchronize(void) { return 0; }
