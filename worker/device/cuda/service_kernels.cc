#include "worker/device/cuda/service_kernels.h"

namespace mlc::worker {
namespace {

constexpr std::string_view kSource = R"(
extern "C" __global__ void mlc_service_read(const uint4* from, long long count, unsigned* out) {
  unsigned sum = 0;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint4 v = from[i];
    sum ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x9e3779b9u) *out = sum;
}

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

extern "C" __global__ void mlc_service_clock(unsigned long long* out) {
  unsigned long long start = nanoseconds();
  const unsigned long long edge = start;
  while (start == edge) start = nanoseconds();
  const long long cycles = clock64();
  unsigned long long now = start;
  while (now - start < 20000) now = nanoseconds();
  out[0] = (unsigned long long)(clock64() - cycles);
  out[1] = now - start;
}
)";

constexpr int kThreads = 512;

}  // namespace

std::string_view ServiceSource() { return kSource; }

Result<std::unique_ptr<ServiceKernels>> ServiceKernels::Create(Device& device,
                                                               const std::string& image) {
  auto service = std::unique_ptr<ServiceKernels>(new ServiceKernels(device));
  service->code_ = MLC_TRY(DeviceCode::Load(device, image));
  service->read_ = MLC_TRY(service->code_->Function("mlc_service_read", 0));
  service->clock_ = MLC_TRY(service->code_->Function("mlc_service_clock", 0));
  service->memory_ = MLC_TRY(DeviceMemory::Allocate(device, 2 * int64_t{device.facts().l2_bytes}));
  service->answer_ = MLC_TRY(DeviceMemory::Allocate(device, 256));
  MLC_TRY(device.Check(
      device.cuda().memset_d8_async(service->memory_.address(), 0,
                                    static_cast<size_t>(service->memory_.bytes()), device.stream()),
      "clearing memory"));
  MLC_TRY(device.Synchronize("clearing memory"));
  return service;
}

Status ServiceKernels::EvictL2() {
  mlc_cu_ptr from = memory_.address();
  long long count = memory_.bytes() / 16;
  mlc_cu_ptr out = answer_.address();
  void* parameters[] = {&from, &count, &out};
  return device_.Check(mlc_cuda_launch(&device_.cuda(), read_,
                                       {static_cast<uint32_t>(4 * device_.facts().sms), 1, 1},
                                       {kThreads, 1, 1}, 0, device_.stream(), parameters, 0),
                       "launch of the cache's eviction");
}

Result<double> ServiceKernels::ClockMhz() {
  mlc_cu_ptr out = answer_.address();
  void* parameters[] = {&out};
  MLC_TRY(device_.Check(mlc_cuda_launch(&device_.cuda(), clock_, {1, 1, 1}, {1, 1, 1}, 0,
                                        device_.stream(), parameters, 0),
                        "launch of the clock's measuring"));
  uint64_t answer[2] = {};
  MLC_TRY(device_.Download(answer, answer_.address(), sizeof(answer)));
  if (answer[1] == 0) return 0.0;
  return 1e3 * static_cast<double>(answer[0]) / static_cast<double>(answer[1]);
}

}  // namespace mlc::worker
