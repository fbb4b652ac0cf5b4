#include "worker/device/cuda/nvml.h"

#include <dlfcn.h>

#include <cstring>
#include <vector>

namespace mlc::worker {
namespace {

struct Reason {
  uint64_t bit;
  bool hard;  // the card is not itself: measured times are not to be compared
  const char* text;
};
// Idle and application clocks (1 and 2) are no slowdown.
constexpr Reason kReasons[] = {{0x4, false, "power limit"},
                               {0x8, true, "hardware slowdown"},
                               {0x10, false, "sync boost"},
                               {0x20, true, "software thermal slowdown"},
                               {0x40, true, "hardware thermal slowdown"},
                               {0x80, true, "power brake"}};

std::string ReasonText(uint64_t bits, bool all) {
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0 || !(all || reason.hard)) continue;
    text += (text.empty() ? "" : ", ") + std::string(reason.text);
  }
  return text;
}

constexpr unsigned kSmClock = 1;
constexpr int kInsufficientSize = 7;

}  // namespace

std::string HardSlowdown(uint64_t bits) { return ReasonText(bits, false); }
std::string AnySlowdown(uint64_t bits) { return ReasonText(bits, true); }

struct Nvml::Functions {
  struct ProcessInfo {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
  };

  struct MemoryInfo {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle_by_pci)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*max_clock)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned*, ProcessInfo*) = nullptr;
  int (*memory)(void*, MemoryInfo*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;

  bool Fill(void* library) {
    const struct {
      const char* name;
      void* slot;
    } entries[] = {{"nvmlInit_v2", &init},
                   {"nvmlShutdown", &shutdown},
                   {"nvmlDeviceGetHandleByPciBusId_v2", &handle_by_pci},
                   {"nvmlDeviceGetClockInfo", &clock},
                   {"nvmlDeviceGetMaxClockInfo", &max_clock},
                   {"nvmlDeviceGetPowerUsage", &power},
                   {"nvmlDeviceGetTemperature", &temperature},
                   {"nvmlDeviceGetCurrentClocksThrottleReasons", &reasons},
                   {"nvmlDeviceGetComputeRunningProcesses_v3", &processes},
                   {"nvmlDeviceGetMemoryInfo", &memory},
                   {"nvmlSystemGetDriverVersion", &driver}};
    for (const auto& entry : entries) {
      void* const found = dlsym(library, entry.name);
      if (found == nullptr) return false;
      std::memcpy(entry.slot, &found, sizeof(found));
    }
    return true;
  }
};

Nvml::Nvml() : functions_(std::make_unique<Functions>()) {}

Nvml::~Nvml() {
  if (card_ != nullptr) functions_->shutdown();
}

Result<std::unique_ptr<Nvml>> Nvml::Open(const std::string& pci) {
  auto nvml = std::unique_ptr<Nvml>(new Nvml());
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || !nvml->functions_->Fill(library)) {
    return NotFound(
        "no NVML (libnvidia-ml.so.1 of the driver): clocks, power and other users of "
        "the card stay unknown");
  }
  if (nvml->functions_->init() != 0) return NotFound("NVML does not start");
  void* card = nullptr;
  if (nvml->functions_->handle_by_pci(pci.c_str(), &card) != 0 || card == nullptr) {
    nvml->functions_->shutdown();
    return NotFound("NVML does not know the card at " + pci);
  }
  nvml->card_ = card;
  return nvml;
}

CardState Nvml::Read() const {
  CardState state;
  unsigned value = 0;
  if (functions_->clock(card_, kSmClock, &value) == 0) state.sm_clock_mhz = value;
  if (functions_->max_clock(card_, kSmClock, &value) == 0) state.max_sm_clock_mhz = value;
  if (functions_->power(card_, &value) == 0) state.power_w = value / 1e3;
  if (functions_->temperature(card_, 0, &value) == 0) state.temperature_c = value;
  unsigned long long bits = 0;
  if (functions_->reasons(card_, &bits) == 0) state.slowdown_bits = bits;
  std::vector<Functions::ProcessInfo> processes(64);
  auto count = static_cast<unsigned>(processes.size());
  const int listed = functions_->processes(card_, &count, processes.data());
  if (listed == 0 || listed == kInsufficientSize) state.compute_processes = static_cast<int>(count);
  Functions::MemoryInfo memory{};
  if (functions_->memory(card_, &memory) == 0) {
    state.memory_bytes = static_cast<int64_t>(memory.total);
    state.memory_used_bytes = static_cast<int64_t>(memory.used);
  }
  return state;
}

std::string Nvml::DriverVersion() const {
  char text[96] = {};
  return functions_->driver(text, sizeof(text) - 1) == 0 ? text : "unknown";
}

}  // namespace mlc::worker
