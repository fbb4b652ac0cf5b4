// What a Loop carries from iteration to iteration. Its iterations are unrolled. While all
// conditions are known, so is the end. From the first condition on that a run computes, iterations
// are computed as often as the loop may run, and those that a run does not reach change nothing.
// Not thread-safe; lives for one node.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/onnx/builder.h"
#include "compiler/graph/onnx/counted_dims.h"

namespace mlc::graph::onnx {

// Parts of equal shape side by side, along a new axis.
ValueId StackParts(Builder& b, std::vector<ValueId> parts, int64_t axis);

class UnrolledLoop {
 public:
  // Borrows the builder. `condition`: of the first iteration, or kNoValue. `most`: iterations, if
  // there is a bound.
  UnrolledLoop(Builder& b, std::vector<ValueId> state, ValueId condition,
               std::optional<int64_t> most)
      : b_(b), state_(std::move(state)), condition_(condition), most_(most) {}

  // Whether a run may need one more iteration. Fails the builder if a run decides that, and nothing
  // bounds the iterations.
  bool GoesOn();
  // What the body reads: the number of the iteration, its condition and the state.
  std::vector<ValueId> Inputs() const;
  // What it gives: the next condition, the state and one part of each scan.
  void Take(std::vector<ValueId> results);
  // The state and the scans, as many of their parts as a run has computed. `wanted`: results that
  // are read; later scans are left out.
  std::vector<ValueId> Results(CountedDims& counted, size_t wanted);

 private:
  ValueId Kept(ValueId before, ValueId after);

  Builder& b_;
  std::vector<ValueId> state_;
  ValueId condition_;
  std::optional<int64_t> most_;
  int64_t iterations_ = 0;
  ValueId is_on_ = kNoValue;      // whether a run reaches the iteration; kNoValue: all do
  std::vector<ValueId> reached_;  // i64: 1 for each iteration that a run reaches
  std::vector<std::vector<ValueId>> scans_;  // parts
};

}  // namespace mlc::graph::onnx
