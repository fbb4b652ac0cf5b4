// Kernel times from CUPTI's activity records, opened at run time. The times are the device's own,
// mapped to CLOCK_MONOTONIC_RAW. One object per process, because CUPTI has one subscriber, and it
// is opened before the process makes a CUDA context. Not thread-safe. Record layout: the kernel
// record of CUPTI 12 and 13, which agree on the fields read here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::worker {

struct KernelRecord {
  uint32_t correlation = 0;  // grows with every call of the process
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;

  // CUPTI gives records whose times it lost; they say nothing.
  bool lost() const { return start_ns == 0 || end_ns <= start_ns; }
  double ns() const { return static_cast<double>(end_ns - start_ns); }
};

// Reads one activity record; nullopt if it is not of a kernel.
std::optional<KernelRecord> DecodeActivity(const void* record);

class Cupti {
 public:
  // NOT_FOUND says where it looked and what to install; PERMISSION_DENIED what to allow.
  static Result<std::unique_ptr<Cupti>> Open(const std::string& cuda_home);
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  // CUPTI's own number, 130000 or the like, and the file it came from.
  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }

  // The records of all kernels that ended since the last call, in the order of their launches.
  // REQUIRES: the stream is synchronized.
  Result<std::vector<KernelRecord>> Take();

 private:
  struct Functions;
  Cupti();
  Status Enable();
  Status Failed(const char* what, int result) const;

  std::unique_ptr<Functions> functions_;
  uint32_t version_ = 0;
  std::string path_;
};

}  // namespace mlc::worker
