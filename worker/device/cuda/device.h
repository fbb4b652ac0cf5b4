// One GPU of a runner: the driver, the primary context, a stream and memory. Not thread-safe.
// Errors include the driver's message. After an error other than RESOURCE_EXHAUSTED, the context
// may be lost, and the process should not use the GPU again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/runtime/cuda_driver.h"

namespace mlc::worker {

// Initialises the driver in this process. A child calls it before it enters the sandbox, because
// the initialisation may run programs, which the sandbox forbids. The thread that the driver starts
// runs only driver code. A failure appears again, with its message, when a device is opened.
void StartDriver();

class Device {
 public:
  // FAILED_PRECONDITION or UNAVAILABLE if there is no driver, no such device or no context.
  static Result<std::unique_ptr<Device>> Open(int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const mlc_cuda& cuda() const { return cuda_; }
  mlc_cu_stream stream() const { return stream_; }
  const mlc_cuda_device_facts& facts() const { return facts_; }

  // OK; RESOURCE_EXHAUSTED if memory is exhausted; else ABORTED: "launch of k_p0: CUDA_ERROR_...
  // (...)".
  Status Check(int result, std::string_view what) const;
  // Waits for all enqueued work; returns the error of a failed kernel.
  Status Synchronize(std::string_view what);
  // Copies through pinned memory and waits.
  Status Upload(mlc_cu_ptr to, const void* from, int64_t bytes);
  Status Download(void* to, mlc_cu_ptr from, int64_t bytes);

 private:
  friend class DeviceMemory;
  Device() = default;
  Status OpenContext(int ordinal);
  // Returns memory of this capacity, preferably a free block, because an allocation by the driver
  // is slow.
  Result<mlc_cu_ptr> TakeBlock(int64_t capacity);
  void GiveBlock(mlc_cu_ptr address, int64_t capacity);
  void FreeBlocks();

  mlc_cuda cuda_{};
  mlc_cuda_device_facts facts_{};
  mlc_cu_device device_ = -1;
  mlc_cu_stream stream_ = nullptr;
  void* staging_ = nullptr;
  std::multimap<int64_t, mlc_cu_ptr> blocks_;  // free blocks by capacity
  int64_t free_bytes_ = 0;
};

// Owns device memory, aligned to 256 bytes, and returns it to its device at the end. Movable.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  static Result<DeviceMemory> Allocate(Device& device, int64_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  mlc_cu_ptr address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  mlc_cu_ptr address_ = 0;
  int64_t bytes_ = 0;
  int64_t capacity_ = 0;
};

// Owns a loaded image and unloads it at the end.
class DeviceCode {
 public:
  static Result<std::unique_ptr<DeviceCode>> Load(Device& device, const std::string& image);
  ~DeviceCode();
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  // The function, configured for `block_bytes` of dynamic shared memory.
  Result<mlc_cu_function> Function(const std::string& name, int64_t block_bytes);

 private:
  DeviceCode(Device& device, mlc_cu_library library) : device_(device), library_(library) {}
  Device& device_;
  mlc_cu_library library_;
};

}  // namespace mlc::worker
