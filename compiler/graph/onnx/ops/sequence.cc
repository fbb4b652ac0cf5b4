// Sequences of tensors: where a tensor lies in one is known during the import, so that nothing is
// left of them in the graph.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/sequences.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

void OutSequence(OpContext& c, TensorSequence sequence) {
  c.Out(c.sequences.Add(c.b, std::move(sequence)));
}

// The operand as a place before `end` in a sequence of `count` tensors; negative ones count from
// the last tensor on.
std::optional<int64_t> PlaceIn(OpContext& c, int i, int64_t count, int64_t end) {
  const Dims given = c.IntsIn(i);
  if (!c.ok()) return std::nullopt;
  if (given.size() != 1) {
    c.Fail("the position must be one number");
  } else if (given[0] < -count || given[0] >= end) {
    c.Fail("position " + std::to_string(given[0]) + " is outside of a sequence of " +
           std::to_string(count) + " tensors");
  } else {
    return given[0] < 0 ? given[0] + count : given[0];
  }
  return std::nullopt;
}

// One more axis of size one.
ValueId Lengthened(Builder& b, ValueId x, int64_t axis) {
  Dims dims = b.DimsOf(x);
  dims.insert(dims.begin() + axis, 1);
  return b.Reshape(x, dims);
}

void Construct(OpContext& c) {
  TensorSequence sequence;
  for (int i = 0; i < c.OperandCount(); ++i) sequence.tensors.push_back(c.In(i));
  if (!c.ok()) return;
  if (sequence.tensors.empty()) return c.Fail("there is nothing to make a sequence of");
  sequence.dtype = c.b.DTypeOf(sequence.tensors[0]);
  for (const ValueId tensor : sequence.tensors) {
    if (c.b.DTypeOf(tensor) != sequence.dtype) return c.Fail("its tensors differ in type");
  }
  OutSequence(c, std::move(sequence));
}

void Empty(OpContext& c) {
  const Result<DType> dtype =
      DTypeOf(static_cast<int32_t>(std::clamp<int64_t>(c.Int("dtype", kFloat), 0, 1000)));
  if (!dtype.ok()) return c.Unsupported("a sequence of this type");
  OutSequence(c, {*dtype, {}});
}

void Insert(OpContext& c) {
  TensorSequence sequence = SequenceIn(c, 0);
  const ValueId tensor = c.In(1);
  if (!c.ok()) return;
  if (c.b.DTypeOf(tensor) != sequence.dtype) {
    return c.Fail("the tensor has another type than those of the sequence");
  }
  const auto count = static_cast<int64_t>(sequence.tensors.size());
  const std::optional<int64_t> place = c.Has(2) ? PlaceIn(c, 2, count, count + 1) : count;
  if (!place) return;
  sequence.tensors.insert(sequence.tensors.begin() + *place, tensor);
  OutSequence(c, std::move(sequence));
}

void Erase(OpContext& c) {
  TensorSequence sequence = SequenceIn(c, 0);
  if (!c.ok()) return;
  if (sequence.tensors.empty()) return c.Fail("the sequence is empty");
  const auto count = static_cast<int64_t>(sequence.tensors.size());
  const std::optional<int64_t> place = c.Has(1) ? PlaceIn(c, 1, count, count) : count - 1;
  if (!place) return;
  sequence.tensors.erase(sequence.tensors.begin() + *place);
  OutSequence(c, std::move(sequence));
}

// A position that a run computes chooses among tensors of one shape.
void ChosenAt(OpContext& c, const TensorSequence& sequence) {
  std::vector<ValueId> parts;
  for (const ValueId tensor : sequence.tensors) {
    if (c.b.DimsOf(tensor) != c.b.DimsOf(sequence.tensors[0])) {
      return c.Unsupported("a position that is not constant, in tensors of different shapes,");
    }
    parts.push_back(Lengthened(c.b, tensor, 0));
  }
  const ValueId all = c.b.Concat(std::move(parts), 0);
  const ValueId chosen = c.b.Gather(all, c.b.Reshape(c.In(1), {1}), 0);
  c.Out(c.b.Reshape(chosen, c.b.DimsOf(sequence.tensors[0])));
}

void At(OpContext& c) {
  const TensorSequence sequence = SequenceIn(c, 0);
  const ValueId position = c.In(1);
  if (!c.ok()) return;
  if (sequence.tensors.empty()) return c.Fail("the sequence is empty");
  if (c.b.TypeOf(position).NumElements() != 1) return c.Fail("the position must be one number");
  if (!c.b.IsConstant(position)) return ChosenAt(c, sequence);
  const auto count = static_cast<int64_t>(sequence.tensors.size());
  const std::optional<int64_t> place = PlaceIn(c, 1, count, count);
  if (place) c.Out(sequence.tensors[static_cast<size_t>(*place)]);
}

void Length(OpContext& c) {
  const TensorSequence& sequence = SequenceIn(c, 0);
  if (c.ok()) c.Out(c.b.IntScalar(static_cast<int64_t>(sequence.tensors.size())));
}

void ConcatFrom(OpContext& c) {
  const TensorSequence sequence = SequenceIn(c, 0);
  const bool is_new = c.Flag("new_axis", false);
  const int64_t given = c.RequiredInt("axis");
  if (!c.ok()) return;
  if (sequence.tensors.empty()) return c.Unsupported("joining an empty sequence");
  const int64_t rank = c.b.RankOf(sequence.tensors[0]);
  const int64_t axis = Axis(c, given, rank + (is_new ? 1 : 0));
  std::vector<ValueId> parts = sequence.tensors;
  for (ValueId& part : parts) {
    if (c.b.RankOf(part) != rank) c.Fail("the tensors have different ranks");
    if (c.ok() && is_new) part = Lengthened(c.b, part, axis);
  }
  if (c.ok()) c.Out(c.b.Concat(std::move(parts), axis));
}

// The lengths of the parts: as given, one for all but the last, or 1.
Dims PartsOf(OpContext& c, int64_t dim) {
  constexpr int64_t kMostParts = 1 << 16;
  Dims sizes = {1};
  if (c.Has(1)) sizes = c.IntsIn(1);
  if (!c.ok()) return {};
  if (c.Has(1) && c.b.RankOf(c.In(1)) == 1) return sizes;
  const int64_t size = sizes.empty() ? 0 : sizes[0];
  if (size < 1 || dim / size > kMostParts) {
    c.Fail(size < 1 ? "parts must have an element or more"
                    : "it has more than " + std::to_string(kMostParts) + " parts");
    return {};
  }
  Dims parts;
  for (int64_t start = 0; start < dim; start += size) parts.push_back(std::min(size, dim - start));
  return parts;
}

void SplitTo(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t axis = Axis(c, c.Int("axis", 0), c.b.RankOf(x));
  if (!c.ok()) return;
  const bool keeps = c.Has(1) || c.Flag("keepdims", true);
  const Dims sizes = PartsOf(c, c.b.Dim(x, axis));
  TensorSequence sequence{c.b.DTypeOf(x), {}};
  int64_t start = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > c.b.Dim(x, axis) - start) return c.Fail("split sizes do not fit");
    ValueId part = c.b.SliceAxis(x, axis, start, size);
    if (!keeps) {
      Dims dims = c.b.DimsOf(x);
      dims.erase(dims.begin() + axis);
      part = c.b.Reshape(part, dims);
    }
    sequence.tensors.push_back(part);
    start += size;
  }
  if (start != c.b.Dim(x, axis)) c.Fail("split sizes do not add up to the dimension");
  OutSequence(c, std::move(sequence));
}

constexpr std::string_view kKnown = "sequences of known length";

constexpr OpRow kSequenceRows[] = {
    {"ConcatFromSequence", ConcatFrom, 1, 1, "a sequence that has a tensor", true},
    {"SequenceAt", At, 2, 1, "a constant position, or tensors of one shape", true},
    {"SequenceConstruct", Construct, kVariadic, 1},
    {"SequenceEmpty", Empty, 0, 1},
    {"SequenceErase", Erase, 2, 1, "a constant position", true},
    {"SequenceInsert", Insert, 3, 1, "a constant position", true},
    {"SequenceLength", Length, 1, 1, kKnown, true},
    {"SplitToSequence", SplitTo, 2, 1, "constant sizes of parts"}};

}  // namespace

std::span<const OpRow> SequenceOps() { return kSequenceRows; }

}  // namespace mlc::graph::onnx
