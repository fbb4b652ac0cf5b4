#include "compiler/graph/onnx/sequences.h"

#include <string>
#include <utility>

#include "compiler/graph/onnx/op_context.h"

namespace mlc::graph::onnx {
namespace {

// Loops that append copy what there is: the length of all copies is bounded.
constexpr int64_t kMostTensors = int64_t{1} << 22;
constexpr size_t kMostSequences = size_t{1} << 20;

}  // namespace

ValueId Sequences::Add(Builder& b, TensorSequence sequence) {
  if (!b.ok()) return kNoValue;
  tensors_ += static_cast<int64_t>(sequence.tensors.size());
  if (tensors_ > kMostTensors || all_.size() == kMostSequences) {
    return b.Fail(Unimplemented("the sequences of the model have more than " +
                                std::to_string(kMostTensors) + " tensors in all"));
  }
  all_.push_back(std::move(sequence));
  return kFirst - static_cast<ValueId>(all_.size() - 1);
}

ValueId AnyOperand(const OpContext& c, int i) {
  return i < c.OperandCount() ? c.operands_[static_cast<size_t>(i)] : kNoValue;
}

const TensorSequence& SequenceIn(OpContext& c, int i) {
  static const TensorSequence kEmpty;
  const ValueId id = AnyOperand(c, i);
  const bool is_list = Sequences::Is(id);
  if (is_list && !c.sequences.At(id).is_nothing) return c.sequences.At(id);
  c.Fail("operand " + std::to_string(i) +
         (is_list ? " is an optional value that holds nothing" : " is not a sequence"));
  return kEmpty;
}

}  // namespace mlc::graph::onnx
