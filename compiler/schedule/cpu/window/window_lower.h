// Kernel IR of pooling. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

struct WindowProblem {
  graph::ValueId anchor = 0;
  std::vector<int64_t> in, out;  // all dimensions
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool max = false;
  bool count_padding = false;
  int column = 1;  // the vectorised dimension: 1 for channels, or the last spatial one
  int lanes = 1;
  DType dtype = DType::kF32;

  size_t spatial() const { return kernel.size(); }
  int64_t Taps() const;
  int64_t Columns() const { return out[static_cast<size_t>(column)]; }
  int64_t Rows() const;  // output points but `column`
  // Outputs [first, last) of spatial dimension s whose windows lie inside the input.
  void Inside(size_t s, int64_t* first, int64_t* last) const;
};

struct WindowKnobs {
  int vectors = 1;
  int64_t row_block = 1;
};

std::optional<WindowProblem> FindWindow(const graph::Workload& workload,
                                        const target::Target& target);
// The same with vectors of `lanes`, if such vectors can be formed.
std::optional<WindowProblem> FindWindow(const graph::Workload& workload, int lanes);

LoweredKernel LowerWindow(const graph::Workload& workload, const WindowProblem& problem,
                          const WindowKnobs& knobs);

}  // namespace mlc::schedule
