#include "compiler/graph/onnx/loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/graph/onnx/sequences.h"

namespace mlc::graph::onnx {
namespace {

constexpr size_t kMostJoined = 1024;
// More are computed in vain.
constexpr int64_t kMostMasked = 4096;

}  // namespace

ValueId StackParts(Builder& b, std::vector<ValueId> parts, int64_t axis) {
  for (ValueId& part : parts) {
    Dims dims = b.DimsOf(part);
    if (Sequences::Is(part)) return b.Fail("a result of each iteration is a sequence");
    if (axis < 0 || axis > static_cast<int64_t>(dims.size())) {
      return b.Fail("an axis of a scan is out of range");
    }
    dims.insert(dims.begin() + axis, 1);
    part = b.Reshape(part, dims);
  }
  while (parts.size() > 1 && b.ok()) {
    std::vector<ValueId> joined;
    for (size_t i = 0; i < parts.size(); i += kMostJoined) {
      const size_t end = std::min(parts.size(), i + kMostJoined);
      joined.push_back(b.Concat(
          {parts.begin() + static_cast<int64_t>(i), parts.begin() + static_cast<int64_t>(end)},
          axis));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

bool UnrolledLoop::GoesOn() {
  if (!b_.ok() || (most_ && iterations_ >= *most_)) return false;
  if (condition_ == kNoValue) return true;
  if (b_.TypeOf(condition_).NumElements() != 1 || b_.DTypeOf(condition_) != DType::kBool) {
    b_.Fail("the loop's condition must be one bool");
    return false;
  }
  if (b_.IsConstant(condition_)) {
    const Dims goes_on = b_.Ints(condition_, "the loop's condition");
    return !goes_on.empty() && goes_on[0] != 0;
  }
  if (!most_ || *most_ > kMostMasked) {
    b_.Fail(
        Unimplemented("its end depends on data, and " +
                      (most_ ? "it may have " + std::to_string(*most_) + " iterations: at most " +
                                   std::to_string(kMostMasked) + " are supported"
                             : "nothing bounds the number of its iterations") +
                      "; give its first operand a constant, the most that a run may need"));
    return false;
  }
  const ValueId goes_on = b_.Reshape(condition_, {});
  is_on_ = is_on_ == kNoValue ? goes_on : b_.Apply(ScalarOp::kAnd, {is_on_, goes_on});
  return true;
}

std::vector<ValueId> UnrolledLoop::Inputs() const {
  // An iteration that a run reaches has a true condition.
  std::vector<ValueId> inputs = {b_.IntScalar(iterations_), b_.Scalar(DType::kBool, 1)};
  inputs.insert(inputs.end(), state_.begin(), state_.end());
  return inputs;
}

ValueId UnrolledLoop::Kept(ValueId before, ValueId after) {
  if (before == after) return before;
  const bool is_sequence = Sequences::Is(before) || Sequences::Is(after);
  if (is_sequence || b_.TypeOf(before) != b_.TypeOf(after)) {
    return b_.Fail(Unimplemented(std::string("its end depends on data, and an iteration changes ") +
                                 (is_sequence ? "a sequence" : "the shape of what it carries") +
                                 ": that needs a known number of iterations"));
  }
  return b_.Select(is_on_, after, before);
}

void UnrolledLoop::Take(std::vector<ValueId> results) {
  const size_t carried = state_.size();
  if (results.size() < carried + 1) {
    b_.Fail("the body has too few outputs");
    return;
  }
  condition_ = results[0];
  for (size_t k = 0; k < carried; ++k) {
    state_[k] = is_on_ == kNoValue ? results[k + 1] : Kept(state_[k], results[k + 1]);
  }
  scans_.resize(results.size() - carried - 1);
  for (size_t k = 0; k < scans_.size(); ++k) scans_[k].push_back(results[carried + 1 + k]);
  reached_.push_back(is_on_ == kNoValue ? b_.IntScalar(1) : b_.Cast(is_on_, DType::kI64));
  ++iterations_;
}

std::vector<ValueId> UnrolledLoop::Results(CountedDims& counted, size_t wanted) {
  std::vector<ValueId> results = state_;
  if (!b_.ok()) return results;
  scans_.resize(std::min(scans_.size(), wanted - std::min(wanted, state_.size())));
  if (is_on_ == kNoValue) {
    for (std::vector<ValueId>& scan : scans_) {
      results.push_back(StackParts(b_, std::move(scan), 0));
    }
    return results;
  }
  if (scans_.empty()) return results;
  const ValueId count = b_.Reduce("sum", StackParts(b_, std::move(reached_), 0), {0}, true);
  const int dim = counted.LimitOf(b_, count, iterations_);
  for (std::vector<ValueId>& scan : scans_) {
    results.push_back(counted.Cut(b_, StackParts(b_, std::move(scan), 0), 0, dim));
  }
  return results;
}

}  // namespace mlc::graph::onnx
