// Kernel times from the activity records of CUPTI, which is loaded at run time. Times are those of
// the device, mapped to CLOCK_MONOTONIC_RAW. A process may have one object, because CUPTI allows
// one subscriber. Create it before the process makes a CUDA context. Not thread-safe. Source: the
// layout of kernel records in CUPTI 12 and 13, which agree in the fields used here.
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

  // True for a record without times; CUPTI returns one if it lost them.
  bool lost() const { return start_ns == 0 || end_ns <= start_ns; }
  double ns() const { return static_cast<double>(end_ns - start_ns); }
};

// Reads one activity record; nullopt if it is not of a kernel.
std::optional<KernelRecord> DecodeActivity(const void* record);

class Cupti {
 public:
  // NOT_FOUND, with the searched folders and what to install; PERMISSION_DENIED, with the
  // permission to set.
  static Result<std::unique_ptr<Cupti>> Open(const std::string& cuda_home);
  ~Cupti();
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  // The version as CUPTI numbers it, such as 130000, and the path of the library.
  uint32_t version() const { return version_; }
  const std::string& path() const { return path_; }

  // The records of all kernels that ended since the last call, in launch order. REQUIRES: the
  // stream is synchronized.
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
