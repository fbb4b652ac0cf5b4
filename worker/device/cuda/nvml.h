// The state of a card as NVML tells it, opened at run time: clock, power, what slows it down, who
// else computes on it. A missing library costs these facts, nothing else. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace mlc::worker {

struct CardState {
  double sm_clock_mhz = 0;  // at the moment
  double max_sm_clock_mhz = 0;
  double power_w = 0;
  double temperature_c = 0;
  uint64_t slowdown_bits = 0;  // nvmlClocksEventReasons
  int compute_processes = 0;   // this one included
  int64_t memory_bytes = 0;
  int64_t memory_used_bytes = 0;
};

// "thermal slowdown, power brake"; empty if nothing slows the card down but its own power limit,
// idleness or settings.
std::string HardSlowdown(uint64_t bits);
// The same with the power limit and the settings.
std::string AnySlowdown(uint64_t bits);

class Nvml {
 public:
  // NOT_FOUND when there is no library or it does not know the card. `pci`: "0000:1b:00.0".
  static Result<std::unique_ptr<Nvml>> Open(const std::string& pci);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Zero where the card does not tell.
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
