// The machine at hand: ISA from the CPU, caches from the kernel's description of core 0.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "compiler/target/target.h"

namespace mlc::target {

namespace {

// A line such as "48K" or "Data"; empty when there is none.
std::string LineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K" and "2M" in bytes; 0 for anything else.
int64_t BytesOf(const std::string& text) {
  size_t digits = 0;
  int64_t value = 0;
  while (digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + (text[digits++] - '0');
  }
  const std::string unit = text.substr(digits);
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  return unit.empty() ? value : 0;
}

// Data or unified cache of a level; 0 when unknown.
int64_t CacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (LineOf(folder + "level") != std::to_string(level)) continue;
    if (LineOf(folder + "type") == "Instruction") continue;
    return BytesOf(LineOf(folder + "size"));
  }
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return std::max<int64_t>(0, sysconf(kNames[level - 1]));
}

Isa HostIsa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return __builtin_cpu_supports("avx512vnni") ? Isa::kAvx512Vnni : Isa::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::kAvx2;
  return Isa::kPlain;
#elif defined(__aarch64__)
  return Isa::kNeon;
#else
  return Isa::kPlain;
#endif
}

}  // namespace

Target DetectHost(int threads) {
  Target target;
  CpuTarget& cpu = target.cpu();
#if defined(__aarch64__)
  cpu.arch = "aarch64";
#endif
  cpu.isa = HostIsa();
  cpu.threads = threads;
  if (const int64_t bytes = CacheBytes(1); bytes > 0) cpu.l1_bytes = bytes;
  if (const int64_t bytes = CacheBytes(2); bytes > 0) cpu.l2_bytes = bytes;
  if (const int64_t bytes = CacheBytes(3); bytes > 0) cpu.l3_bytes = bytes;
  return target;
}

}  // namespace mlc::target
