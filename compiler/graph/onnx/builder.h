// Builds the graph during the import: infers types, limits sizes and folds constants, so that shape
// arithmetic never becomes a run-time node. Errors are sticky: after the first one, every call
// returns kNoValue and adds nothing. Decompositions can therefore be written as formulas, and the
// caller checks status() once. A new builder of the same graph starts without the error. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/folds.h"

namespace mlc::graph::onnx {

using Dims = std::vector<int64_t>;

class Builder {
 public:
  // `folds` may be null.
  explicit Builder(Graph& graph, Folds* folds = nullptr) : graph_(&graph), folds_(folds) {}

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  // Records the error unless there is one already. Returns kNoValue.
  ValueId Fail(Status status);
  // INVALID_ARGUMENT with `why`.
  ValueId Fail(std::string why);

  // The type of a value; kNoValue reads as a scalar f32.
  const TensorType& TypeOf(ValueId id) const;
  const Dims& DimsOf(ValueId id) const { return TypeOf(id).dims; }
  int RankOf(ValueId id) const { return TypeOf(id).rank(); }
  DType DTypeOf(ValueId id) const { return TypeOf(id).dtype; }
  // 1 beyond the rank.
  int64_t Dim(ValueId id, int64_t axis) const;
  bool IsConstant(ValueId id) const;
  // The elements of a constant, for operands that shape the graph. For other values they fail with
  // FAILED_PRECONDITION, naming `what`.
  Dims Ints(ValueId id, std::string_view what);
  std::vector<double> Floats(ValueId id, std::string_view what);
  // A constant's tensor; null after such a failure.
  TensorDataRef Data(ValueId id, std::string_view what);

  // Adds any node and infers its type (Reshape, Expand, Slice, Cast and Resize bring theirs).
  ValueId Add(Value value);

  ValueId Constant(TensorDataRef data, std::string name = {});
  ValueId Scalar(DType dtype, double value);
  // A scalar of the type of `like`.
  ValueId ScalarLike(ValueId like, double value) { return Scalar(DTypeOf(like), value); }
  ValueId IntVector(const Dims& values);
  ValueId IntScalar(int64_t value);
  ValueId FloatTensor(DType dtype, const Dims& dims, const std::vector<double>& values);

  ValueId Apply(ScalarOp op, std::vector<ValueId> operands);
  ValueId Plus(ValueId a, ValueId b) { return Apply(ScalarOp::kAdd, {a, b}); }
  ValueId Minus(ValueId a, ValueId b) { return Apply(ScalarOp::kSub, {a, b}); }
  ValueId Times(ValueId a, ValueId b) { return Apply(ScalarOp::kMul, {a, b}); }
  ValueId Over(ValueId a, ValueId b) { return Apply(ScalarOp::kDiv, {a, b}); }
  // The same with a number as the right operand. The name differs because value ids are numbers
  // too.
  ValueId PlusNumber(ValueId a, double b) { return Plus(a, ScalarLike(a, b)); }
  ValueId TimesNumber(ValueId a, double b) { return Times(a, ScalarLike(a, b)); }
  ValueId PlusNumber(ValueId a, ValueId b) = delete;
  ValueId TimesNumber(ValueId a, ValueId b) = delete;
  ValueId Plus(ValueId a, double b) = delete;
  ValueId Times(ValueId a, double b) = delete;
  ValueId Max(ValueId a, ValueId b) { return Apply(ScalarOp::kMax, {a, b}); }
  ValueId Min(ValueId a, ValueId b) { return Apply(ScalarOp::kMin, {a, b}); }
  ValueId Select(ValueId condition, ValueId yes, ValueId no) {
    return Apply(ScalarOp::kSelect, {condition, yes, no});
  }
  ValueId Cast(ValueId x, DType dtype);
  ValueId Reshape(ValueId x, Dims dims);
  ValueId Expand(ValueId x, Dims dims);
  ValueId Transpose(ValueId x, Dims perm);
  ValueId Slice(ValueId x, Dims starts, Dims steps, Dims sizes);
  // `size` elements of one axis from `start`.
  ValueId SliceAxis(ValueId x, int64_t axis, int64_t start, int64_t size);
  ValueId Concat(std::vector<ValueId> parts, int64_t axis);
  ValueId Pad(ValueId x, Dims pads, double value, std::string mode = "constant");
  ValueId Reduce(std::string kind, ValueId x, Dims axes, bool keepdims);
  ValueId Softmax(ValueId x, int64_t axis);
  // `rounds`: `a` may be rounded to 8 bits (precision=i8 of ops.h).
  ValueId MatMul(ValueId a, ValueId b, bool rounds = false);
  ValueId Gather(ValueId data, ValueId indices, int64_t axis);

 private:
  friend ValueId SumsOfBytes(Builder& b, ValueId product);
  friend ValueId CountedFrom(Builder& b, ValueId numbers, int64_t start);
  friend bool ReadsSeveralSizes(const Builder& b) { return b.folds_ != nullptr; }
  friend bool IsReshape(const Builder& b, ValueId id);
  friend DType StoredTypeOf(const Builder& b, ValueId id);
  friend void RememberStoredType(Builder& b, ValueId id, DType dtype);

  ValueId Fold(const Value& value);
  TensorDataRef DataOf(ValueId id);

  Graph* graph_;
  Folds* folds_;
  Status status_;
  std::map<ValueId, DType> stored_types_;
};

// Whether the model is read at other sizes, too, at which it is to have the same nodes.
bool ReadsSeveralSizes(const Builder& b);

bool IsReshape(const Builder& b, ValueId id);

// Numbers i64 plus a start that may be another one at another size (Folds::keeps_starts).
ValueId CountedFrom(Builder& b, ValueId numbers, int64_t start);

// The product of centred bytes in i32, exactly (byte_product.h); kNoValue if it is none that has
// kernels.
ValueId SumsOfBytes(Builder& b, ValueId product);

// The type that the model gives a constant whose small elements are widened; else DTypeOf.
DType StoredTypeOf(const Builder& b, ValueId id);
void RememberStoredType(Builder& b, ValueId id, DType dtype);

}  // namespace mlc::graph::onnx
