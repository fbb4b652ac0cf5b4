// One GPU as its runner holds it: the driver, the primary context, a stream, memory. Not
// thread-safe. Errors carry the driver's words; after one that is not RESOURCE_EXHAUSTED the
// context may be lost, and with it the process's use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "compiler/runtime/cuda_driver.h"

namespace mlc::worker {

// Starts the driver in this process. For a child that enters a sandbox afterwards: the driver's
// start may run programs of its own, which the sandbox forbids. The thread that the driver starts
// runs the driver alone. A failure shows again, with its words, when a device is opened.
void StartDriver();

class Device {
 public:
  // FAILED_PRECONDITION or UNAVAILABLE: no driver, no such device, no context.
  static Result<std::unique_ptr<Device>> Open(int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const mlc_cuda& cuda() const { return cuda_; }
  mlc_cu_stream stream() const { return stream_; }
  const mlc_cuda_device_facts& facts() const { return facts_; }

  // OK, RESOURCE_EXHAUSTED when memory is out, else ABORTED: "launch of k_p0: CUDA_ERROR_...
  // (...)".
  Status Check(int result, std::string_view what) const;
  // Waits for everything enqueued; says what a kernel did wrong.
  Status Synchronize(std::string_view what);
  // Through pinned memory, and waits.
  Status Upload(mlc_cu_ptr to, const void* from, int64_t bytes);
  Status Download(void* to, mlc_cu_ptr from, int64_t bytes);

 private:
  friend class DeviceMemory;
  Device() = default;
  Status OpenContext(int ordinal);
  // Memory of that capacity, from the blocks given back if there is one: the driver takes long.
  Result<mlc_cu_ptr> TakeBlock(int64_t capacity);
  void GiveBlock(mlc_cu_ptr address, int64_t capacity);
  void FreeBlocks();

  mlc_cuda cuda_{};
  mlc_cuda_device_facts facts_{};
  mlc_cu_device device_ = -1;
  mlc_cu_stream stream_ = nullptr;
  void* staging_ = nullptr;
  std::multimap<int64_t, mlc_cu_ptr> blocks_;  // free ones by capacity
  int64_t free_bytes_ = 0;
};

// Device memory, aligned to 256 bytes, that goes back to its device at the end. Moves.
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

// A loaded image, unloaded at the end.
class DeviceCode {
 public:
  static Result<std::unique_ptr<DeviceCode>> Load(Device& device, const std::string& image);
  ~DeviceCode();
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  // Ready for `block_bytes` of dynamic on-chip memory.
  Result<mlc_cu_function> Function(const std::string& name, int64_t block_bytes);

 private:
  DeviceCode(Device& device, mlc_cu_library library) : device_(device), library_(library) {}
  Device& device_;
  mlc_cu_library library_;
};

}  // namespace mlc::worker
