#include "compiler/graph/onnx/builder.h"

#include <cstring>
#include <utility>

#include "compiler/graph/byte_product.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/onnx/tensor.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/shape.h"

namespace mlc::graph::onnx {
namespace {

// Larger results stay nodes: folding is for shape arithmetic and per-channel vectors, and a small
// file must not unfold into gigabytes here.
constexpr int64_t kMaxFoldedBytes = int64_t{1} << 20;
constexpr int64_t kMaxFoldedOperandBytes = int64_t{16} << 20;
// Shape arithmetic is this small at every size of a model.
constexpr int64_t kAlwaysFoldedBytes = 4096;

const TensorType kUnknownType;

template <typename T>
T ElementAt(const TensorData& data, size_t i) {
  T value;
  std::memcpy(&value, data.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename To>
void Widen(const TensorData& data, std::vector<To>& out) {
  for (size_t i = 0; i < data.bytes.size() / sizeof(T); ++i) {
    out.push_back(static_cast<To>(ElementAt<T>(data, i)));
  }
}

Status DependsOnInputs(std::string_view what) {
  return Status(
      StatusCode::kFailedPrecondition,
      std::string(what) + " depends on the model's inputs; bind the input that it comes from");
}

int64_t BytesOf(const TensorType& type) { return type.NumElements() * SizeOf(type.dtype); }

// Whether it is known and small enough to compute now.
// Codes of weights stay what they are: passes make products of integers of them, or fold them.
bool ReadsCodes(const Builder& builder, const Value& value) {
  if (value.op != Op::kCast || value.type.dtype != DType::kF32) return false;
  const DType from = StoredTypeOf(builder, value.operands[0]);
  const bool is_code = from == DType::kU8 || from == DType::kI8 || IsFloat8(from);
  return is_code && value.type.rank() >= 2;
}

bool Foldable(const Builder& builder, const Value& value) {
  if (BytesOf(value.type) > kMaxFoldedBytes || value.op == Op::kDequantize) return false;
  if (ReadsCodes(builder, value)) return false;
  int64_t bytes = 0;
  for (const ValueId id : value.operands) {
    if (id == kNoValue) continue;
    if (!builder.IsConstant(id)) return false;
    bytes += BytesOf(builder.TypeOf(id));
  }
  return bytes <= kMaxFoldedOperandBytes;
}

// `folds` may be null.
bool MayFold(const Builder& builder, const Value& value, Folds* folds) {
  const bool is_foldable = Foldable(builder, value);
  if (folds == nullptr) return is_foldable;
  const bool may = folds->May(is_foldable);
  return is_foldable && (may || BytesOf(value.type) <= kAlwaysFoldedBytes);
}

}  // namespace

ValueId Builder::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  return kNoValue;
}

ValueId Builder::Fail(std::string why) { return Fail(InvalidArgument(std::move(why))); }

const TensorType& Builder::TypeOf(ValueId id) const {
  return id < 0 || id >= graph_->size() ? kUnknownType : std::as_const(*graph_)[id].type;
}

int64_t Builder::Dim(ValueId id, int64_t axis) const {
  const Dims& dims = DimsOf(id);
  return axis < 0 || axis >= static_cast<int64_t>(dims.size()) ? 1
                                                               : dims[static_cast<size_t>(axis)];
}

bool Builder::IsConstant(ValueId id) const {
  return id >= 0 && id < graph_->size() && std::as_const(*graph_)[id].op == Op::kConstant;
}

TensorDataRef Builder::DataOf(ValueId id) {
  const Value& value = std::as_const(*graph_)[id];
  if (value.data != nullptr) return value.data;
  Result<TensorDataRef> data = EvaluateNode(value, {});
  if (data.ok()) return *std::move(data);
  Fail(data.status());
  return nullptr;
}

Dims Builder::Ints(ValueId id, std::string_view what) {
  Dims values;
  if (!ok()) return values;
  if (!IsConstant(id)) {
    Fail(DependsOnInputs(what));
    return values;
  }
  const TensorDataRef data = DataOf(id);
  if (data == nullptr) return values;
  switch (data->dtype) {
    case DType::kI64:
      Widen<int64_t>(*data, values);
      break;
    case DType::kI32:
      Widen<int32_t>(*data, values);
      break;
    case DType::kI16:
      Widen<int16_t>(*data, values);
      break;
    case DType::kU64:  // as far as they fit
      Widen<int64_t>(*data, values);
      break;
    case DType::kU32:
      Widen<uint32_t>(*data, values);
      break;
    case DType::kU16:
      Widen<uint16_t>(*data, values);
      break;
    case DType::kI8:
      Widen<int8_t>(*data, values);
      break;
    case DType::kU8:
    case DType::kBool:
      Widen<uint8_t>(*data, values);
      break;
    default:
      Fail(std::string(what) + " must hold integers");
  }
  return values;
}

std::vector<double> Builder::Floats(ValueId id, std::string_view what) {
  std::vector<double> values;
  if (!ok()) return values;
  if (!IsConstant(id)) {
    Fail(DependsOnInputs(what));
    return values;
  }
  const ValueId wide = Cast(id, DType::kF64);
  if (!ok() || !IsConstant(wide)) return values;
  const TensorDataRef data = DataOf(wide);
  if (data != nullptr) Widen<double>(*data, values);
  return values;
}

TensorDataRef Builder::Data(ValueId id, std::string_view what) {
  if (!ok()) return nullptr;
  if (IsConstant(id)) return DataOf(id);
  Fail(DependsOnInputs(what));
  return nullptr;
}

ValueId Builder::Fold(const Value& value) {
  std::vector<TensorDataRef> operands;
  for (const ValueId id : value.operands) {
    operands.push_back(id == kNoValue ? nullptr : DataOf(id));
  }
  if (!ok()) return kNoValue;
  Result<TensorDataRef> data = EvaluateNode(value, operands);
  if (!data.ok()) return Fail(data.status());
  return graph_->Constant(*std::move(data));
}

ValueId Builder::Add(Value value) {
  if (!ok()) return kNoValue;
  std::vector<const TensorType*> types;
  for (const ValueId id : value.operands) types.push_back(id == kNoValue ? nullptr : &TypeOf(id));
  FillDefaults(value, types.empty() || types[0] == nullptr ? 0 : types[0]->rank());
  if (const Status status = CheckAttrs(value); !status.ok()) return Fail(status);
  Result<TensorType> type = InferType(value, types);
  if (!type.ok()) return Fail(type.status());
  value.type = *std::move(type);
  const Result<int64_t> elements = CheckedElements(value.type.dims, value.type.dtype, "its result");
  if (!elements.ok()) return Fail(elements.status());
  return MayFold(*this, value, folds_) ? Fold(value) : graph_->Add(std::move(value));
}

ValueId Builder::Constant(TensorDataRef data, std::string name) {
  return ok() ? graph_->Constant(std::move(data), std::move(name)) : kNoValue;
}

ValueId Builder::Scalar(DType dtype, double value) {
  return ok() ? graph_->Splat(dtype, value) : kNoValue;
}

ValueId Builder::IntVector(const Dims& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  const Dims dims = {static_cast<int64_t>(values.size())};
  return Constant(MakeTensorData(DType::kI64, dims, std::move(bytes)));
}

ValueId Builder::IntScalar(int64_t value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return Constant(MakeTensorData(DType::kI64, {}, std::move(bytes)));
}

ValueId Builder::FloatTensor(DType dtype, const Dims& dims, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(double));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Cast(Constant(MakeTensorData(DType::kF64, dims, std::move(bytes))), dtype);
}

ValueId Builder::Apply(ScalarOp op, std::vector<ValueId> operands) {
  Value value;
  value.op = Op::kPointwise;
  value.scalar = op;
  value.operands = std::move(operands);
  return Add(std::move(value));
}

ValueId Builder::Cast(ValueId x, DType dtype) {
  if (DTypeOf(x) == dtype) return x;
  Value value;
  value.op = Op::kCast;
  value.operands = {x};
  value.type = {dtype, DimsOf(x), {}};
  return Add(std::move(value));
}

ValueId Builder::Reshape(ValueId x, Dims dims) {
  // At another size the shape may be another one.
  if (folds_ == nullptr && DimsOf(x) == dims) return x;
  // What was joined on the way need not be told apart at other sizes.
  while (folds_ != nullptr && IsReshape(*this, x)) x = std::as_const(*graph_)[x].operands[0];
  Value value;
  value.op = Op::kReshape;
  value.operands = {x};
  value.type = {DTypeOf(x), std::move(dims), {}};
  return Add(std::move(value));
}

ValueId Builder::Expand(ValueId x, Dims dims) {
  if (folds_ == nullptr && DimsOf(x) == dims) return x;
  Value value;
  value.op = Op::kExpand;
  value.operands = {x};
  value.type = {DTypeOf(x), std::move(dims), {}};
  return Add(std::move(value));
}

ValueId Builder::Transpose(ValueId x, Dims perm) {
  Value value;
  value.op = Op::kTranspose;
  value.operands = {x};
  value.attrs["perm"] = std::move(perm);
  return Add(std::move(value));
}

ValueId Builder::Slice(ValueId x, Dims starts, Dims steps, Dims sizes) {
  Value value;
  value.op = Op::kSlice;
  value.operands = {x};
  value.attrs["starts"] = std::move(starts);
  value.attrs["steps"] = std::move(steps);
  value.type = {DTypeOf(x), std::move(sizes), {}};
  return Add(std::move(value));
}

ValueId Builder::SliceAxis(ValueId x, int64_t axis, int64_t start, int64_t size) {
  Dims starts(DimsOf(x).size(), 0);
  const Dims steps(starts.size(), 1);
  Dims sizes = DimsOf(x);
  if (axis < 0 || axis >= RankOf(x)) return Fail("the axis of a slice is out of range");
  starts[static_cast<size_t>(axis)] = start;
  sizes[static_cast<size_t>(axis)] = size;
  return Slice(x, std::move(starts), steps, std::move(sizes));
}

ValueId Builder::Concat(std::vector<ValueId> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Value value;
  value.op = Op::kConcat;
  value.operands = std::move(parts);
  value.attrs["axis"] = axis;
  return Add(std::move(value));
}

ValueId Builder::Pad(ValueId x, Dims pads, double fill, std::string mode) {
  Value value;
  value.op = Op::kPad;
  value.operands = {x};
  value.attrs["pads"] = std::move(pads);
  value.attrs["mode"] = std::move(mode);
  value.attrs["value"] = fill;
  return Add(std::move(value));
}

ValueId Builder::Reduce(std::string kind, ValueId x, Dims axes, bool keepdims) {
  Value value;
  value.op = Op::kReduce;
  value.operands = {x};
  value.attrs["kind"] = std::move(kind);
  value.attrs["axes"] = std::move(axes);
  value.attrs["keepdims"] = int64_t{keepdims};
  return Add(std::move(value));
}

ValueId Builder::Softmax(ValueId x, int64_t axis) {
  Value value;
  value.op = Op::kSoftmax;
  value.operands = {x};
  value.attrs["axis"] = axis;
  return Add(std::move(value));
}

bool IsReshape(const Builder& b, ValueId id) {
  return id >= 0 && id < b.graph_->size() && std::as_const(*b.graph_)[id].op == Op::kReshape;
}

ValueId CountedFrom(Builder& b, ValueId numbers, int64_t start) {
  const ValueId first = b.IntScalar(start);
  if (!b.ok() || b.folds_ == nullptr || !b.folds_->keeps_starts()) return b.Plus(numbers, first);
  return b.graph_->Pointwise(ScalarOp::kAdd, {numbers, first});
}

ValueId SumsOfBytes(Builder& b, ValueId product) {
  if (!b.ok()) return kNoValue;
  const Value node = (*b.graph_)[product];
  return graph::SumsOfBytes(*b.graph_, node, false).value_or(kNoValue);
}

ValueId Builder::MatMul(ValueId a, ValueId b, bool rounds) {
  Value value;
  value.op = Op::kMatMul;
  value.operands = {a, b};
  if (rounds) value.attrs["precision"] = std::string("i8");
  return Add(std::move(value));
}

ValueId Builder::Gather(ValueId data, ValueId indices, int64_t axis) {
  Value value;
  value.op = Op::kGather;
  value.operands = {data, indices};
  value.attrs["axis"] = axis;
  return Add(std::move(value));
}

DType StoredTypeOf(const Builder& b, ValueId id) {
  const auto found = b.stored_types_.find(id);
  return found == b.stored_types_.end() ? b.DTypeOf(id) : found->second;
}

void RememberStoredType(Builder& b, ValueId id, DType dtype) { b.stored_types_[id] = dtype; }

}  // namespace mlc::graph::onnx
