// A reference result prepared for fast checks of large outputs: in the kernel's layout, with NaN
// between the strides, so that one pass over the memory suffices. Made once per reference set.
// Values; const use is thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/graph/graph.h"
#include "worker/check/check.h"

namespace mlc::worker {

class ExpectedOutput {
 public:
  // `want`: dense row-major; must outlive this object.
  static ExpectedOutput Make(const graph::TensorType& type, const std::byte* want);

  // Does what Compare() of check.h does, on `threads` threads. It also checks that nothing was
  // written between the strides of `got`, which was poisoned with 0xff.
  Comparison Check(const std::byte* got, double tolerance, int threads) const;

  int64_t bytes() const { return static_cast<int64_t>(values_.size() * sizeof(float)); }

 private:
  graph::TensorType type_;
  const std::byte* want_ = nullptr;
  std::vector<float> values_;  // empty: only Compare() is exact for this type
  double scale_ = 1;
};

}  // namespace mlc::worker
