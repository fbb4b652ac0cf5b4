// What the tests of the GPU interpreter share: kernels from text, parameters of any element type.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/interpret/interpret.h"
#include "compiler/ir/interpret/lane.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

// The bytes of a parameter of one float or i32 type, given and read as doubles.
class Param {
 public:
  Param(DType dtype, const std::vector<double>& values)
      : dtype_(dtype), bytes_(values.size() * Size()) {
    for (size_t i = 0; i < values.size(); ++i) {
      Lane lane;
      if (IsFloat(dtype)) {
        lane.f = RoundTo(dtype, values[i]);
      } else {
        lane.i = static_cast<int64_t>(values[i]);
      }
      WriteLane(dtype, bytes_.data() + i * Size(), lane);
    }
  }
  Param(DType dtype, size_t count) : Param(dtype, std::vector<double>(count, -77)) {}

  double operator[](size_t i) const {
    const Lane lane = ReadLane(dtype_, bytes_.data() + i * Size());
    return IsFloat(dtype_) ? lane.f : static_cast<double>(lane.i);
  }
  std::span<std::byte> bytes() { return bytes_; }

 private:
  size_t Size() const { return static_cast<size_t>(SizeOf(dtype_)); }

  DType dtype_;
  std::vector<std::byte> bytes_;
};

inline Status RunText(const std::string& text, std::vector<std::span<std::byte>> params) {
  const Result<Kernel> kernel = Kernel::Parse(text);
  if (!kernel.ok()) return kernel.status();
  return Interpret(*kernel, params);
}

// The numbers first, first + step, ...
inline std::vector<double> Counting(size_t count, double first = 0, double step = 1) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + step * static_cast<double>(i);
  return values;
}

}  // namespace mlc::ir
