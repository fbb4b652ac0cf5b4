// A reference's result as a checker of large outputs wants it: in the kernel's own layout, with
// NaN between the strides, so that one pass over the memory tells. Made once per set of inputs.
// Values; const use is thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/graph/graph.h"
#include "worker/check/check.h"

namespace mlc::worker {

class ExpectedOutput {
 public:
  // `want`: dense row-major, kept by the caller as long as this object.
  static ExpectedOutput Make(const graph::TensorType& type, const std::byte* want);

  // Compare() of check.h on `threads` threads, and: nothing may be written between the strides of
  // `got`, which was poisoned with 0xff.
  Comparison Check(const std::byte* got, double tolerance, int threads) const;

  int64_t bytes() const { return static_cast<int64_t>(values_.size() * sizeof(float)); }

 private:
  graph::TensorType type_;
  const std::byte* want_ = nullptr;
  std::vector<float> values_;  // empty: only the thorough comparison is exact
  double scale_ = 1;
};

}  // namespace mlc::worker
