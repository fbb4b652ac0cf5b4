// Sequences of tensors, whose lengths are known while a model is imported. Nodes of sequences leave
// nothing in the graph: a sequence is a list of values of the graph, and has an id that is none of
// the graph's. So has an optional value that holds nothing; one that holds something is what it
// holds. Not thread-safe; lives for one import.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/onnx/builder.h"

namespace mlc::graph::onnx {

class OpContext;

struct TensorSequence {
  DType dtype = DType::kF32;  // of all tensors
  std::vector<ValueId> tensors;
  bool is_nothing = false;  // an optional value without a value, which is no sequence
};

class Sequences {
 public:
  // Whether the id is that of a sequence. Sequences come below the ids that stand for no value.
  static bool Is(ValueId id) { return id <= kFirst; }

  // REQUIRES: Is(id), from Add.
  const TensorSequence& At(ValueId id) const { return all_[static_cast<size_t>(kFirst - id)]; }
  // Fails the builder, and returns kNoValue, if the sequences of the import become too long.
  ValueId Add(Builder& b, TensorSequence sequence);

 private:
  static constexpr ValueId kFirst = kNoValue - 2;

  std::vector<TensorSequence> all_;
  int64_t tensors_ = 0;  // of all
};

// The operand as it is: a value, a sequence or kNoValue.
ValueId AnyOperand(const OpContext& c, int i);

// The sequence; fails, and returns an empty one, if the operand is none.
const TensorSequence& SequenceIn(OpContext& c, int i);

}  // namespace mlc::graph::onnx
