// Unique by comparing all pairs: the first one of equal elements is kept, and its place in order is
// the number of kept elements that are less.
#include <numeric>
#include <optional>

#include "compiler/graph/onnx/axes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 13;
constexpr int64_t kMostColumns = 64;

Dims Iota(int64_t count) {
  Dims values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

// Of element j (a row) with element i (a column), as bool [n, n]. All NaN are equal, and greatest.
struct Compared {
  ValueId is_less = kNoValue;   // i is less than j
  ValueId is_equal = kNoValue;  // i equals j
};

Compared CompareColumn(Builder& b, ValueId column, int64_t n) {
  const ValueId self = b.Reshape(column, {n, 1});
  const ValueId other = b.Reshape(column, {1, n});
  const bool is_bool = b.DTypeOf(column) == DType::kBool;
  Compared result;
  result.is_equal = b.Apply(ScalarOp::kEqual, {other, self});
  result.is_less = is_bool ? b.Apply(ScalarOp::kAnd, {b.Apply(ScalarOp::kNot, {other}), self})
                           : b.Apply(ScalarOp::kLess, {other, self});
  if (!IsFloat(b.DTypeOf(column))) return result;
  const ValueId self_nan = b.Apply(ScalarOp::kIsNan, {self});
  const ValueId other_nan = b.Apply(ScalarOp::kIsNan, {other});
  const ValueId number = b.Apply(ScalarOp::kNot, {other_nan});
  result.is_less =
      b.Apply(ScalarOp::kOr, {result.is_less, b.Apply(ScalarOp::kAnd, {number, self_nan})});
  result.is_equal =
      b.Apply(ScalarOp::kOr, {result.is_equal, b.Apply(ScalarOp::kAnd, {other_nan, self_nan})});
  return result;
}

// Rows of `x` [n, columns] in the order of their first columns that differ.
Compared CompareRows(Builder& b, ValueId x) {
  const int64_t n = b.Dim(x, 0);
  std::optional<Compared> all;
  for (int64_t d = b.Dim(x, 1); d-- > 0;) {
    Compared column = CompareColumn(b, b.SliceAxis(x, 1, d, 1), n);
    if (all) {
      const ValueId later = b.Apply(ScalarOp::kAnd, {column.is_equal, all->is_less});
      column.is_less = b.Apply(ScalarOp::kOr, {column.is_less, later});
      column.is_equal = b.Apply(ScalarOp::kAnd, {column.is_equal, all->is_equal});
    }
    all = column;
  }
  return *all;
}

// How many elements the condition holds for, by row.
ValueId CountOf(Builder& b, ValueId condition) {
  return b.Reduce("sum", b.Cast(condition, DType::kI32), {1}, false);
}

class UniqueRows {
 public:
  UniqueRows(OpContext& c, ValueId x) : c_(c), b_(c.b), n_(c.b.Dim(x, 0)), is_sorted_(true) {
    is_sorted_ = c.Flag("sorted", true);
    compared_ = CompareRows(b_, x);
    positions_ = b_.Cast(b_.IntVector(Iota(n_)), DType::kI32);
    const ValueId earlier =
        b_.Apply(ScalarOp::kLess, {positions_, b_.Reshape(positions_, {n_, 1})});
    const ValueId before = CountOf(b_, b_.Apply(ScalarOp::kAnd, {compared_.is_equal, earlier}));
    is_first_ = b_.Apply(ScalarOp::kEqual, {before, b_.ScalarLike(before, 0)});
    kept_ = c.counted.PlacesOf(b_, is_first_);
  }

  // The kept elements.
  ValueId Indices() { return is_sorted_ ? Sorted() : kept_.places; }
  // By element, the place of the one that it equals among the kept ones.
  ValueId Inverse() {
    if (is_sorted_) return b_.Cast(Order(), DType::kI64);
    const ValueId last = b_.ScalarLike(positions_, static_cast<double>(n_ - 1));
    const ValueId place = b_.Select(compared_.is_equal, positions_, last);
    const ValueId equal = b_.Reduce("min", place, {1}, false);
    Value sum;
    sum.op = Op::kCumSum;
    sum.operands = {b_.Cast(is_first_, DType::kI64)};
    sum.attrs["axis"] = int64_t{0};
    const ValueId kept = b_.Minus(b_.Add(std::move(sum)), b_.IntScalar(1));
    return b_.Gather(kept, b_.Cast(equal, DType::kI64), 0);
  }
  // Of each kept element, how many equal it.
  ValueId Counts(ValueId indices) {
    return b_.Gather(b_.Cast(CountOf(b_, compared_.is_equal), DType::kI64), indices, 0);
  }

 private:
  // By element, how many kept ones are less.
  ValueId Order() {
    const ValueId first = b_.Reshape(is_first_, {1, n_});
    return CountOf(b_, b_.Apply(ScalarOp::kAnd, {compared_.is_less, first}));
  }

  // Each kept element writes its index to its place; the others write behind all places.
  ValueId Sorted() {
    const int64_t room = b_.Dim(kept_.room, 0);
    const ValueId place = b_.Select(is_first_, b_.Cast(Order(), DType::kI64), b_.IntScalar(room));
    Value scatter;
    scatter.op = Op::kScatterElements;
    scatter.operands = {b_.Expand(b_.IntScalar(0), {room + 1}), place, b_.IntVector(Iota(n_))};
    scatter.attrs["axis"] = int64_t{0};
    return c_.counted.Cut(b_, b_.Add(std::move(scatter)), 0, kept_);
  }

  OpContext& c_;
  Builder& b_;
  int64_t n_;
  bool is_sorted_;
  Compared compared_;
  ValueId positions_ = kNoValue;
  ValueId is_first_ = kNoValue;
  CountedDims::Places kept_;
};

// The axis first, the others as columns.
ValueId RowsOf(Builder& b, ValueId x, int64_t axis) {
  Dims perm = Iota(b.RankOf(x));
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin(), axis);
  const int64_t n = b.Dim(x, axis);
  return b.Reshape(b.Transpose(x, perm), {n, b.TypeOf(x).NumElements() / n});
}

void Unique(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  if (!c.ok()) return;
  const int64_t elements = b.TypeOf(x).NumElements();
  if (elements == 0) return c.Unsupported("an operand without elements");
  int64_t axis = 0;
  if (c.HasAttr("axis")) {
    axis = Axis(c, c.Int("axis", 0), b.RankOf(x));
    if (!c.ok()) return;
  } else {
    x = b.Reshape(x, {elements});
  }
  const ValueId rows = b.RankOf(x) == 1 ? b.Reshape(x, {elements, 1}) : RowsOf(b, x, axis);
  if (b.Dim(rows, 0) > kMostElements) {
    return c.Unsupported("an axis of more than " + std::to_string(kMostElements) + " elements");
  }
  if (b.Dim(rows, 1) > kMostColumns) {
    return c.Unsupported("slices of more than " + std::to_string(kMostColumns) + " elements");
  }
  UniqueRows unique(c, rows);
  const ValueId indices = unique.Indices();
  c.Out(b.Gather(x, indices, axis), 0);
  c.Out(indices, 1);
  if (c.IsOutputUsed(2)) c.Out(unique.Inverse(), 2);
  if (c.IsOutputUsed(3)) c.Out(unique.Counts(indices), 3);
}

constexpr OpRow kUniqueRows[] = {
    {"Unique", Unique, 1, 4, "axes of at most 2^13 elements, slices of at most 64"}};

}  // namespace

std::span<const OpRow> UniqueOps() { return kUniqueRows; }

}  // namespace mlc::graph::onnx
