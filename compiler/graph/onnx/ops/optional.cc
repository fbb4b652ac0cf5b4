// Optional values: whether one holds anything is known during the import, so that nothing is left
// of them in the graph.
#include "compiler/graph/onnx/sequences.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

bool HoldsNothing(const OpContext& c, ValueId id) {
  return id == kNoValue || (Sequences::Is(id) && c.sequences.At(id).is_nothing);
}

void Make(OpContext& c) {
  const ValueId held = AnyOperand(c, 0);
  if (held != kNoValue) return c.Out(held);
  c.Out(c.sequences.Add(c.b, {DType::kF32, {}, true}));
}

void Has(OpContext& c) {
  c.Out(c.b.Scalar(DType::kBool, HoldsNothing(c, AnyOperand(c, 0)) ? 0 : 1));
}

void Get(OpContext& c) {
  const ValueId held = AnyOperand(c, 0);
  if (HoldsNothing(c, held)) return c.Fail("the optional value holds nothing");
  c.Out(held);
}

constexpr OpRow kOptionalRows[] = {{"Optional", Make, 1, 1, {}, true},
                                   {"OptionalGetElement", Get, 1, 1, {}, true},
                                   {"OptionalHasElement", Has, 1, 1, {}, true}};

}  // namespace

std::span<const OpRow> OptionalOps() { return kOptionalRows; }

}  // namespace mlc::graph::onnx
