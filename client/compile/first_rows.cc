#include "client/compile/first_rows.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "compiler/graph/ranged/step_rows.h"

namespace mlc::client {

namespace {

using graph::Placement;
using graph::TensorType;

bool AreFirst(const TensorType& smaller, const TensorType& larger) {
  if (smaller == larger) return true;
  if (smaller.dtype != larger.dtype || smaller.rank() != larger.rank()) return false;
  const int axis = graph::RowAxis(larger);
  const std::vector<int64_t> a = smaller.EffectiveStrides(), b = larger.EffectiveStrides();
  for (size_t i = 0; i < a.size(); ++i) {
    if (static_cast<int>(i) != axis && smaller.dims[i] != larger.dims[i]) return false;
    if (smaller.dims[i] > 1 && a[i] != b[i]) return false;
  }
  return true;
}

const graph::Workload& WorkloadOf(const graph::Program& program, size_t step) {
  return program.tasks[static_cast<size_t>(program.steps[step].task)].workload;
}

// Compares the elements of `dims` in two buffers, from an axis on.
class Elements {
 public:
  Elements(const TensorType& a, const TensorType& b)
      : dims_(a.dims),
        strides_(a.EffectiveStrides()),
        others_(b.EffectiveStrides()),
        size_(SizeOf(a.dtype)) {}

  bool AreEqual(const std::byte* a, const std::byte* b, size_t axis = 0) const {
    if (axis == dims_.size()) return std::memcmp(a, b, static_cast<size_t>(size_)) == 0;
    for (int64_t i = 0; i < dims_[axis]; ++i) {
      if (!AreEqual(a + i * strides_[axis] * size_, b + i * others_[axis] * size_, axis + 1)) {
        return false;
      }
    }
    return true;
  }

 private:
  const std::vector<int64_t>& dims_;
  const std::vector<int64_t> strides_, others_;
  const int64_t size_;
};

bool Fits(const TensorType& smaller, const TensorType& larger) {
  return smaller.dtype == larger.dtype &&
         std::ranges::equal(smaller.dims, larger.dims, std::less_equal<>());
}

}  // namespace

bool AreFirstRows(const std::vector<graph::Port>& smaller, const std::vector<graph::Port>& larger) {
  return std::equal(
      smaller.begin(), smaller.end(), larger.begin(), larger.end(),
      [](const graph::Port& a, const graph::Port& b) { return AreFirst(a.type, b.type); });
}

bool AreFirstRows(const graph::Program& smaller, const graph::Program& larger, size_t step) {
  const graph::Workload &of = WorkloadOf(smaller, step), &in = WorkloadOf(larger, step);
  const auto are_first = [&](graph::ValueId id) {
    return AreFirst(of.graph()[id].type, in.graph()[id].type);
  };
  const std::vector<Placement>& places = smaller.steps[step].operands;
  for (size_t k = 0; k < places.size(); ++k) {
    if (places[k].kind != Placement::Kind::kConstant && !are_first(of.operands()[k])) return false;
  }
  return std::ranges::all_of(of.outputs(), are_first);
}

bool HaveSameAttributes(const graph::Program& smaller, const graph::Program& larger, size_t step) {
  const graph::Graph& a = WorkloadOf(smaller, step).graph();
  const graph::Graph& b = WorkloadOf(larger, step).graph();
  if (a.size() != b.size()) return false;
  for (graph::ValueId id = 0; id < a.size(); ++id) {
    if (a[id].op != b[id].op || a[id].attrs != b[id].attrs) return false;
  }
  return true;
}

bool HasFirstConstants(const graph::Program& smaller, std::span<const Digest> digests,
                       const graph::Program& larger, std::span<const Digest> larger_digests,
                       size_t step) {
  const std::vector<Placement>& a = smaller.steps[step].operands;
  const std::vector<Placement>& b = larger.steps[step].operands;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].kind != Placement::Kind::kConstant) continue;
    const graph::ValueId id = WorkloadOf(smaller, step).operands()[k];
    const TensorType& of = WorkloadOf(smaller, step).graph()[id].type;
    const TensorType& in = WorkloadOf(larger, step).graph()[id].type;
    const auto at = static_cast<size_t>(a[k].index), larger_at = static_cast<size_t>(b[k].index);
    if (of == in && a[k].byte_offset == b[k].byte_offset &&
        digests[at] == larger_digests[larger_at]) {
      continue;
    }
    if (!Fits(of, in) ||
        !Elements(of, in).AreEqual(smaller.constants[at]->bytes.data() + a[k].byte_offset,
                                   larger.constants[larger_at]->bytes.data() + b[k].byte_offset)) {
      return false;
    }
  }
  return true;
}

}  // namespace mlc::client
