// The state of a GPU as NVML reports it: clock, power, throttling, other processes. NVML is loaded
// at run time; without it, only these facts are missing. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace mlc::worker {

struct CardState {
  double sm_clock_mhz = 0;  // current
  double max_sm_clock_mhz = 0;
  double power_w = 0;
  double temperature_c = 0;
  uint64_t slowdown_bits = 0;  // nvmlClocksEventReasons
  int compute_processes = 0;   // this one included
  int64_t memory_bytes = 0;
  int64_t memory_used_bytes = 0;
};

// The names of hardware slowdowns, such as "thermal slowdown, power brake"; empty if only the power
// limit, idleness or settings reduce the clock.
std::string HardSlowdown(uint64_t bits);
// The same, including the power limit and settings.
std::string AnySlowdown(uint64_t bits);

class Nvml {
 public:
  // NOT_FOUND if the library is missing or does not know the GPU. `pci`: "0000:1b:00.0".
  static Result<std::unique_ptr<Nvml>> Open(const std::string& pci);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The current state. A value that the GPU does not report is 0.
  CardState Read() const;
  // "580.95.05"
  std::string DriverVersion() const;

 private:
  struct Functions;
  Nvml();
  std::unique_ptr<Functions> functions_;
  void* card_ = nullptr;
};

}  // namespace mlc::worker
