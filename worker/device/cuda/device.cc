#include "worker/device/cuda/device.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mlc::worker {
namespace {

constexpr int64_t kStagingBytes = int64_t{16} << 20;
constexpr int64_t kStaticBlockLimit = 48 * 1024;
constexpr int64_t kMinBlock = 4096;
// Free blocks are kept up to this much.
constexpr int64_t kMaxFreeBytes = int64_t{8} << 30;

// Powers of two up to a size from which waste matters more than reuse.
int64_t CapacityFor(int64_t bytes) {
  constexpr int64_t kStep = int64_t{64} << 20;
  if (bytes > kStep) return (bytes + kStep - 1) / kStep * kStep;
  int64_t capacity = kMinBlock;
  while (capacity < bytes) capacity *= 2;
  return capacity;
}

}  // namespace

void StartDriver() {
  mlc_cuda cuda;
  char error[512];
  (void)mlc_cuda_open(&cuda, error, sizeof(error));
}

Result<std::unique_ptr<Device>> Device::Open(int ordinal) {
  auto device = std::unique_ptr<Device>(new Device());
  char error[512];
  if (mlc_cuda_open(&device->cuda_, error, sizeof(error)) != 0) return FailedPrecondition(error);
  MLC_TRY(device->OpenContext(ordinal));
  return device;
}

Status Device::OpenContext(int ordinal) {
  const std::string name = "GPU " + std::to_string(ordinal);
  MLC_TRY(Check(mlc_cuda_query_device(&cuda_, ordinal, &facts_), name));
  mlc_cu_device device = 0;
  MLC_TRY(Check(cuda_.device_get(&device, ordinal), name));
  mlc_cu_context context = nullptr;
  MLC_TRY(Check(cuda_.primary_ctx_retain(&context, device), "a context on " + name));
  device_ = device;
  MLC_TRY(Check(cuda_.ctx_set_current(context), name));
  MLC_TRY(Check(cuda_.stream_create(&stream_, MLC_CUDA_STREAM_NON_BLOCKING), "a stream"));
  return Check(cuda_.mem_alloc_host(&staging_, static_cast<size_t>(kStagingBytes)),
               "pinned memory");
}

Result<mlc_cu_ptr> Device::TakeBlock(int64_t capacity) {
  if (const auto found = blocks_.find(capacity); found != blocks_.end()) {
    const mlc_cu_ptr address = found->second;
    blocks_.erase(found);
    free_bytes_ -= capacity;
    return address;
  }
  mlc_cu_ptr address = 0;
  int result = cuda_.mem_alloc(&address, static_cast<size_t>(capacity));
  if (result == MLC_CUDA_OUT_OF_MEMORY && !blocks_.empty()) {
    FreeBlocks();
    result = cuda_.mem_alloc(&address, static_cast<size_t>(capacity));
  }
  MLC_TRY(Check(result, std::to_string(capacity) + " bytes of device memory"));
  return address;
}

void Device::GiveBlock(mlc_cu_ptr address, int64_t capacity) {
  if (free_bytes_ + capacity > kMaxFreeBytes) {
    cuda_.mem_free(address);
    return;
  }
  blocks_.emplace(capacity, address);
  free_bytes_ += capacity;
}

void Device::FreeBlocks() {
  for (const auto& [capacity, address] : blocks_) cuda_.mem_free(address);
  blocks_.clear();
  free_bytes_ = 0;
}

Device::~Device() {
  FreeBlocks();
  if (staging_ != nullptr) cuda_.mem_free_host(staging_);
  if (stream_ != nullptr) cuda_.stream_destroy(stream_);
  if (device_ >= 0) cuda_.primary_ctx_release(device_);
}

Status Device::Check(int result, std::string_view what) const {
  if (result == MLC_CUDA_SUCCESS) return Status();
  char text[256];
  mlc_cuda_error_text(&cuda_, result, text, sizeof(text));
  const std::string message = std::string(what) + ": " + text;
  if (result == MLC_CUDA_OUT_OF_MEMORY) return ResourceExhausted(message);
  return Status(StatusCode::kAborted, message);
}

Status Device::Synchronize(std::string_view what) {
  return Check(cuda_.stream_synchronize(stream_), what);
}

Status Device::Upload(mlc_cu_ptr to, const void* from, int64_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  for (int64_t at = 0; at < bytes; at += kStagingBytes) {
    const auto part = static_cast<size_t>(std::min(kStagingBytes, bytes - at));
    std::memcpy(staging_, source + at, part);
    MLC_TRY(Check(cuda_.memcpy_htod_async(to + static_cast<uint64_t>(at), staging_, part, stream_),
                  "upload"));
    MLC_TRY(Synchronize("upload"));
  }
  return Status();
}

Status Device::Download(void* to, mlc_cu_ptr from, int64_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  for (int64_t at = 0; at < bytes; at += kStagingBytes) {
    const auto part = static_cast<size_t>(std::min(kStagingBytes, bytes - at));
    MLC_TRY(
        Check(cuda_.memcpy_dtoh_async(staging_, from + static_cast<uint64_t>(at), part, stream_),
              "download"));
    MLC_TRY(Synchronize("download"));
    std::memcpy(target + at, staging_, part);
  }
  return Status();
}

Result<DeviceMemory> DeviceMemory::Allocate(Device& device, int64_t bytes) {
  DeviceMemory memory;
  const int64_t capacity = CapacityFor(bytes);
  memory.address_ = MLC_TRY(device.TakeBlock(capacity));
  memory.device_ = &device;
  memory.bytes_ = bytes;
  memory.capacity_ = capacity;
  return memory;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (device_ != nullptr) device_->GiveBlock(address_, capacity_);
}

Result<std::unique_ptr<DeviceCode>> DeviceCode::Load(Device& device, const std::string& image) {
  mlc_cu_library library = nullptr;
  MLC_TRY(device.Check(device.cuda().library_load_data(&library, image.c_str(), nullptr, nullptr, 0,
                                                       nullptr, nullptr, 0),
                       "loading device code"));
  return std::unique_ptr<DeviceCode>(new DeviceCode(device, library));
}

DeviceCode::~DeviceCode() { device_.cuda().library_unload(library_); }

Result<mlc_cu_function> DeviceCode::Function(const std::string& name, int64_t block_bytes) {
  const mlc_cuda& cuda = device_.cuda();
  mlc_cu_kernel kernel = nullptr;
  mlc_cu_function function = nullptr;
  MLC_TRY(device_.Check(cuda.library_get_kernel(&kernel, library_, name.c_str()), name));
  MLC_TRY(device_.Check(cuda.kernel_get_function(&function, kernel), name));
  if (block_bytes > kStaticBlockLimit) {
    MLC_TRY(device_.Check(cuda.func_set_attribute(function, MLC_CUDA_FUNC_MAX_BLOCK_BYTES,
                                                  static_cast<int>(block_bytes)),
                          "on-chip memory of " + name));
  }
  return function;
}

}  // namespace mlc::worker
