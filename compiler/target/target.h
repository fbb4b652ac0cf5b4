// A device described as text: everything a space, a lowering or a feature may ask. The text is the
// interface: it is stored with every record and travels on the wire. A value.
//
//   target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=272629760
//             fma_gflops=357.0 copy_gbps=26.6
// isa: plain (no vectors assumed beyond 128 bits), avx2 (with fma), avx512, neon. Peak figures are
// calibrated on the machine; they scale reports and the analytic model and are not part of the
// class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/base/digest.h"
#include "compiler/base/dtype.h"
#include "compiler/base/status.h"

namespace mlc::target {

enum class Isa : uint8_t { kPlain, kAvx2, kAvx512, kNeon };

struct Target {
  std::string arch = "x86_64";  // or aarch64
  Isa isa = Isa::kPlain;
  int threads = 1;
  int64_t l1_bytes = 32768;
  int64_t l2_bytes = 1048576;
  int64_t l3_bytes = 33554432;
  double fma_gflops = 0;  // of all `threads`, fp32; 0 when unknown
  double copy_gbps = 0;   // bytes read plus written, of all threads, out of cache; 0 when unknown

  int vector_bits() const;
  int vector_registers() const;
  // Lanes of one vector register.
  int Lanes(DType dtype) const;
  std::string ToText() const;
  // The text without the calibrated figures: records of equal class are comparable.
  std::string ClassText() const;
  static Result<Target> Parse(std::string_view text);
  friend bool operator==(const Target&, const Target&) = default;
};

// The machine at hand, caches and ISA detected, peaks left 0 (the worker calibrates them).
Target DetectHost(int threads);

}  // namespace mlc::target
