// A device described as text: all facts that a space, a lowering or a feature uses. The text is
// stored with every record and sent on the wire. A value: the facts of its kind and the peak
// figures that all kinds have.
//
//   target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=272629760
//             fma_gflops=357.0 copy_gbps=26.6
// isa: plain (no vectors assumed beyond 128 bits), avx2 (with fma), avx512, neon, avx512_vnni (with
// dot products of bytes). Peak figures are calibrated on the machine; they scale reports and the
// analytic model and are not part of the class.
//
//   target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000
//             tensor_gflops=800000 copy_gbps=4350
// block and sm: bytes of shared memory that one block may request and that one multiprocessor has.
// sm_90a is a device of compute capability 9.0 whose architecture-specific instructions the code
// may use.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/types/dtype.h"

namespace mlc::target {

enum class Isa : uint8_t { kPlain, kAvx2, kAvx512, kNeon, kAvx512Vnni };

// The facts of a CPU.
struct CpuTarget {
  std::string arch = "x86_64";  // or aarch64
  Isa isa = Isa::kPlain;
  int threads = 1;
  int64_t l1_bytes = 32768;
  int64_t l2_bytes = 1048576;
  int64_t l3_bytes = 33554432;

  int vector_bits() const;
  int vector_registers() const;
  // Lanes of one vector register.
  int Lanes(DType dtype) const;
  friend bool operator==(const CpuTarget&, const CpuTarget&) = default;
};

// The facts of a CUDA device.
struct GpuTarget {
  int compute = 80;            // compute capability times ten: 80, 86, 89, 90, ...
  bool arch_specific = false;  // the "a" of sm_90a
  int sms = 1;
  int64_t block_bytes = 1;
  int64_t sm_bytes = 1;
  int64_t l2_bytes = 1;
  double tensor_gflops = 0;  // fp16 matrix units with fp32 accumulation; 0 when unknown

  // True if warpgroups of 128 threads can multiply tiles in shared memory (wgmma).
  bool HasWarpgroupMma() const { return compute == 90 && arch_specific; }
  // "sm_90a", as the CUDA compiler spells it.
  std::string CudaArch() const;
  friend bool operator==(const GpuTarget&, const GpuTarget&) = default;
};

struct Target {
  std::variant<CpuTarget, GpuTarget> device;
  double fma_gflops = 0;  // of the whole device, fp32; 0 when unknown
  double copy_gbps = 0;   // bytes read plus written, out of cache; 0 when unknown

  // The facts of one kind of device; null if it is another kind.
  template <typename Kind>
  const Kind* As() const {
    return std::get_if<Kind>(&device);
  }
  // The same if the kind is known. REQUIRES: the device is of that kind.
  const CpuTarget& cpu() const;
  CpuTarget& cpu();
  const GpuTarget& gpu() const;
  GpuTarget& gpu();

  std::string ToText() const;
  // The text without the calibrated figures: records of equal class are comparable.
  std::string ClassText() const;
  // The target without the calibrated figures.
  Target WithoutPeaks() const;
  static Result<Target> Parse(std::string_view text);
  friend bool operator==(const Target&, const Target&) = default;
};

// Targets for code that also runs on devices newer than a GPU's target: first with the shared
// memory that every device has, then with that of the target, which large devices have too.
// REQUIRES: a GPU.
std::array<Target, 2> NewerDevices(const Target& target);

// This machine: detects caches and ISA; peaks are 0 (the worker calibrates them).
Target DetectHost(int threads);

}  // namespace mlc::target
