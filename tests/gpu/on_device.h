// Memory of a GPU for tests, through the driver.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "compiler/runtime/cuda_driver.h"

namespace mlc::testing {

class OnDevice {
 public:
  OnDevice(const mlc_cuda& cuda, int64_t bytes) : cuda_(cuda), bytes_(static_cast<size_t>(bytes)) {
    EXPECT_EQ(cuda_.mem_alloc(&address_, bytes_ > 0 ? bytes_ : 1), 0);
  }
  ~OnDevice() { (void)cuda_.mem_free(address_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  void* pointer() const { return reinterpret_cast<void*>(address_); }
  void Send(const void* from) {
    if (bytes_ == 0) return;
    EXPECT_EQ(cuda_.memcpy_htod_async(address_, from, bytes_, nullptr), 0);
    EXPECT_EQ(cuda_.ctx_synchronize(), 0);
  }
  void Fetch(void* to) {
    EXPECT_EQ(cuda_.memcpy_dtoh_async(to, address_, bytes_, nullptr), 0);
    EXPECT_EQ(cuda_.ctx_synchronize(), 0);
  }

 private:
  const mlc_cuda& cuda_;
  mlc_cu_ptr address_ = 0;
  size_t bytes_;
};

}  // namespace mlc::testing
