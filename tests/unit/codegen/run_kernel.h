// Runs a kernel as generated code and in the interpreter, for tests that compare the two.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/build/loaded_kernel.h"
#include "compiler/codegen/llvm.h"
#include "compiler/ir/build.h"
#include "compiler/ir/interpret/interpret.h"

namespace mlc::codegen {

using Bytes = std::vector<std::byte>;

// The instruction sets that this machine runs.
inline std::vector<target::Isa> HostIsas() {
#if defined(__aarch64__)
  return {target::Isa::kNeon};
#else
  std::vector<target::Isa> isas = {target::Isa::kPlain};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back(target::Isa::kAvx2);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    isas.push_back(target::Isa::kAvx512);
    if (__builtin_cpu_supports("avx512vnni")) isas.push_back(target::Isa::kAvx512Vnni);
  }
  return isas;
#endif
}

inline target::Target HostTarget(target::Isa isa) {
  target::Target target;
#if defined(__aarch64__)
  target.cpu().arch = "aarch64";
#endif
  target.cpu().isa = isa;
  return target;
}

class AlignedBuffer {
 public:
  explicit AlignedBuffer(size_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), std::free) {
  }
  std::byte* get() const { return data_.get(); }

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> data_;
};

// Runs generated code on `threads` shares of each phase, one after the other; params in place.
inline void RunGenerated(const ir::Kernel& kernel, target::Isa isa, std::vector<Bytes>* params,
                         int threads = 1) {
  const Result<std::string> object = CompileToObject({&kernel}, HostTarget(isa));
  ASSERT_TRUE(object.ok()) << object.status().ToString();
  const auto loaded = build::LoadObject(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  const KernelLayout layout = LayoutOf(kernel);
  const auto phases = (*loaded)->Phases(kernel.name, static_cast<int>(layout.phase_extents.size()));
  ASSERT_TRUE(phases.ok()) << phases.status().ToString();
  std::vector<AlignedBuffer> owned;
  std::vector<void*> buffers;
  for (const Bytes& param : *params) {
    owned.emplace_back(param.size());
    std::memcpy(owned.back().get(), param.data(), param.size());
  }
  owned.emplace_back(static_cast<size_t>(layout.workspace_bytes));
  owned.emplace_back(static_cast<size_t>(layout.thread_bytes * threads));
  for (const AlignedBuffer& buffer : owned) buffers.push_back(buffer.get());
  for (size_t p = 0; p < phases->size(); ++p) {
    const int64_t extent = layout.phase_extents[p];
    for (int64_t t = 0; t < threads; ++t) {
      (*phases)[p](buffers.data(), extent * t / threads, extent * (t + 1) / threads, t);
    }
  }
  for (size_t i = 0; i < params->size(); ++i) {
    std::memcpy((*params)[i].data(), owned[i].get(), (*params)[i].size());
  }
}

inline void RunInterpreted(const ir::Kernel& kernel, std::vector<Bytes>* params) {
  std::vector<std::span<std::byte>> spans(params->begin(), params->end());
  const Status status = ir::Interpret(kernel, spans);
  ASSERT_TRUE(status.ok()) << status.ToString() << "\n" << kernel.ToText();
}

// Both ways on the same bytes; every byte of every parameter must be equal.
inline void ExpectSameBytes(const ir::Kernel& kernel, const std::vector<Bytes>& params,
                            int threads = 1) {
  ASSERT_TRUE(kernel.Verify().ok()) << kernel.Verify().ToString() << "\n" << kernel.ToText();
  std::vector<Bytes> expected = params;
  ASSERT_NO_FATAL_FAILURE(RunInterpreted(kernel, &expected));
  for (const target::Isa isa : HostIsas()) {
    std::vector<Bytes> actual = params;
    ASSERT_NO_FATAL_FAILURE(RunGenerated(kernel, isa, &actual, threads));
    for (size_t p = 0; p < params.size(); ++p) {
      for (size_t i = 0; i < params[p].size(); ++i) {
        ASSERT_EQ(static_cast<int>(actual[p][i]), static_cast<int>(expected[p][i]))
            << "isa " << static_cast<int>(isa) << " parameter " << p << " byte " << i << "\n"
            << kernel.ToText();
      }
    }
  }
}

template <typename T>
Bytes BytesOf(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> ValuesOf(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline constexpr auto kAllTypes = [] {
  std::array<DType, kDTypeCount> types{};
  for (size_t i = 0; i < types.size(); ++i) types[i] = static_cast<DType>(i);
  return types;
}();

// A code of a small type that is no NaN, extended to its byte.
inline uint64_t SmallElement(DType dtype, uint64_t bits) {
  const int unused = 8 - BitsOf(dtype);
  if (IsFloat(dtype)) {
    bits &= unused == 0 ? 0xf7 : 0x0f;
    return bits == 0x80 ? 0 : bits;
  }
  const auto high = static_cast<uint8_t>(bits << unused);
  return IsUnsigned(dtype) ? static_cast<uint64_t>(high >> unused)
                           : static_cast<uint8_t>(static_cast<int8_t>(high) >> unused);
}

// Floats of moderate size, integers over their whole range, booleans; the same for the same seed.
inline Bytes RandomBytes(DType dtype, size_t count, uint64_t seed) {
  Rng rng(seed);
  Bytes bytes(count * static_cast<size_t>(SizeOf(dtype)));
  const size_t size = static_cast<size_t>(SizeOf(dtype));
  for (size_t i = 0; i < count; ++i) {
    const double uniform = rng.Uniform() * 8 - 4;
    uint64_t bits = rng.Next();
    if (dtype == DType::kBool) bits &= 1;
    if (IsSmall(dtype)) bits = SmallElement(dtype, bits);
    if (dtype == DType::kF64) std::memcpy(&bits, &uniform, 8);
    const float narrow = static_cast<float>(uniform);
    if (dtype == DType::kF32) std::memcpy(&bits, &narrow, 4);
    if (dtype == DType::kBF16) {
      std::memcpy(&bits, &narrow, 4);
      bits = (bits & 0xffffffffu) >> 16;
    }
    // Sign, exponent 12..17, mantissa: 0.125 to 8.
    if (dtype == DType::kF16) bits = (bits & 0x83ff) | (12 + rng.Below(6)) << 10;
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return bytes;
}

}  // namespace mlc::codegen
