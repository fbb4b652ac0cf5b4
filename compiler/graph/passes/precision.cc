#include "compiler/graph/passes/precision.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "compiler/graph/float8_product.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

struct PrecisionRow {
  std::string_view name;
  double tolerance;
};

constexpr std::array<PrecisionRow, 5> kPrecisions = {
    {{"model", 1e-4}, {"fp32", 1e-4}, {"tf32", 2e-3}, {"fp16", 4e-3}, {"bf16", 3e-2}}};

// Constants are converted in pieces: the doubles in between stay in cache.
constexpr int64_t kPiece = 1 << 14;

bool Convertible(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

double LargestOf(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return 3.3895313892515355e38;
  return 3.4028234663852886e38;
}

// Within the finite range of a narrow type; NaN stays.
double Clamped(DType dtype, double value) {
  if (SizeOf(dtype) > 2) return value;
  const double largest = LargestOf(dtype);
  return std::isnan(value) ? value : std::clamp(value, -largest, largest);
}

TensorDataRef ConvertData(const TensorData& data, DType dtype) {
  const auto from = static_cast<size_t>(SizeOf(data.dtype));
  const auto to = static_cast<size_t>(SizeOf(dtype));
  const auto count = static_cast<int64_t>(data.bytes.size() / from);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * to);
  for (int64_t at = 0; at < count; at += kPiece) {
    const auto length = static_cast<size_t>(std::min(kPiece, count - at));
    const auto first = static_cast<size_t>(at);
    const TensorData piece{data.dtype,
                           {static_cast<int64_t>(length)},
                           data.bytes.subspan(first * from, length * from),
                           nullptr};
    std::vector<double> values = ReadDoubles(piece);
    for (double& value : values) value = Clamped(dtype, value);
    const TensorDataRef converted = WriteDoubles(dtype, piece.dims, values);
    std::copy(converted->bytes.begin(), converted->bytes.end(),
              bytes.begin() + static_cast<ptrdiff_t>(first * to));
  }
  return MakeTensorData(dtype, data.dims, std::move(bytes));
}

// Which values stay f32 while the rest is narrow.
struct WideValues {
  std::vector<bool> computed;  // the node's own arithmetic is f32
  std::vector<bool> kept;      // and so is its result
  std::vector<bool> large;     // it may exceed the narrow range: clamp it when it is narrowed
};

class WideSearch {
 public:
  WideSearch(const Graph& graph, DType narrow)
      : graph_(graph), narrow_(narrow), users_(graph.Users()) {
    const auto size = static_cast<size_t>(graph.size());
    wide_ = {std::vector<bool>(size), std::vector<bool>(size), std::vector<bool>(size)};
    scales_.resize(size);
  }

  WideValues Run() {
    for (ValueId id = 0; id < graph_.size(); ++id) {
      if (IsSensitiveSum(id)) MarkTerms(graph_[id].operands[0], id);
      if (IsProductOfBlocks(graph_[id])) KeepScales(graph_[id].operands[2]);
    }
    for (ValueId id = 0; id < graph_.size(); ++id) Visit(id);
    return std::move(wide_);
  }

 private:
  static size_t At(ValueId id) { return static_cast<size_t>(id); }

  // A sum whose result goes on into arithmetic: a variance, a norm.
  bool IsSensitiveSum(ValueId id) const {
    const Value& node = graph_[id];
    if (node.op != Op::kReduce || !Convertible(node.type.dtype)) return false;
    const std::string& kind = node.Word("kind");
    if (kind == "max" || kind == "min") return false;
    const std::vector<ValueId>& users = users_[At(id)];
    return std::any_of(users.begin(), users.end(),
                       [&](ValueId user) { return graph_[user].op == Op::kPointwise; });
  }

  // Squares, powers and exponentials overflow where their sum over a row would not be the first to.
  void MarkTerms(ValueId term, ValueId sum) {
    const Value& node = graph_[term];
    if (node.op != Op::kPointwise || users_[At(term)] != std::vector<ValueId>{sum}) return;
    const bool square = node.scalar == ScalarOp::kMul && node.operands[0] == node.operands[1];
    if (square || node.scalar == ScalarOp::kPow || node.scalar == ScalarOp::kExp) {
      wide_.computed[At(term)] = wide_.kept[At(term)] = true;
    }
  }

  static bool Moves(Op op) {
    return op == Op::kReshape || op == Op::kTranspose || op == Op::kExpand;
  }

  // Scales of blocks are as small as a number over the largest of float8: from the largest
  // magnitudes of the blocks on, which are no smaller than the numbers, they stay f32.
  void KeepScales(ValueId id) {
    const Value& node = graph_[id];
    if (!Convertible(node.type.dtype) || wide_.kept[At(id)]) return;
    if (node.op != Op::kPointwise && !Moves(node.op)) return;
    Keep(id);
    scales_[At(id)] = true;
    for (const ValueId operand : node.operands) KeepScales(operand);
  }

  void Visit(ValueId id) {
    const Value& node = graph_[id];
    if (Moves(node.op) && scales_[At(node.operands[0])]) scales_[At(id)] = true;
    if (scales_[At(id)]) return Keep(id);
    if (IsProductOfBlocks(node)) {
      wide_.computed[At(id)] = true;
    } else if (HasUnscaledSums(id) || IsSensitiveSum(id)) {
      Keep(id);
    } else if (node.op == Op::kCast) {
      const DType from = graph_[node.operands[0]].type.dtype;
      const bool wide_integer = from == DType::kI16 || from == DType::kI32 || from == DType::kI64;
      if (wide_integer && Convertible(node.type.dtype)) Keep(id);
    } else if (node.op == Op::kPointwise) {
      VisitPointwise(id);
    }
  }

  // Sums of float8 that have not met their scales, which are the first arithmetic behind them.
  bool HasUnscaledSums(ValueId id) const {
    const Value& node = graph_[id];
    if (IsProductOfFloat8(graph_, node)) return !IsProductOfBlocks(node);
    const bool moves = node.op == Op::kReshape || node.op == Op::kTranspose;
    return moves && HasUnscaledSums(node.operands[0]);
  }

  void VisitPointwise(ValueId id) {
    const Value& node = graph_[id];
    bool any = false, all = true, large = false;
    for (const ValueId operand : node.operands) {
      const Value& value = graph_[operand];
      if (!Convertible(value.type.dtype)) continue;
      if (value.op == Op::kConstant) {
        large = large || IsLarge(operand);
        continue;
      }
      any = any || wide_.kept[At(operand)];
      all = all && wide_.kept[At(operand)] && !HasUnscaledSums(operand);
      large = large || wide_.large[At(operand)];
    }
    if (!any) return;
    wide_.computed[At(id)] = true;
    wide_.kept[At(id)] = all;
    wide_.large[At(id)] = large;
  }

  void Keep(ValueId id) { wide_.computed[At(id)] = wide_.kept[At(id)] = true; }

  bool IsLarge(ValueId constant) const {
    const std::optional<double> splat = SplatOf(graph_, constant);
    return splat && std::abs(*splat) > LargestOf(narrow_);
  }

  const Graph& graph_;
  DType narrow_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> scales_;  // of blocks
  WideValues wide_;
};

class Conversion {
 public:
  Conversion(const Graph& from, DType dtype, WideValues wide)
      : from_(from), dtype_(dtype), wide_(std::move(wide)) {}

  Result<Graph> Run() {
    for (ValueId id = 0; id < from_.size(); ++id) {
      const Value& node = from_[id];
      if (node.op == Op::kConstant && node.Has("data")) {
        return InvalidArgument("%" + std::to_string(id) +
                               " has no data: the graph's text names it by digest only");
      }
      ids_.push_back(IsSource(node) ? Source(node) : Node(id));
    }
    for (const ValueId output : from_.outputs()) {
      to_.outputs().push_back(As(output, from_[output].type.dtype));
    }
    to_.output_names() = from_.output_names();
    to_.Compact();
    return std::move(to_);
  }

 private:
  static bool IsSource(const Value& node) {
    return node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kConstant;
  }

  // Constants of floats are added where they are used, in the type of that use.
  ValueId Source(const Value& node) {
    const bool later = node.op == Op::kConstant && Convertible(node.type.dtype);
    return later ? kNoValue : to_.Add(node);
  }

  ValueId Node(ValueId id) {
    Value node = from_[id];
    if (node.op == Op::kDequantize) return Packed(std::move(node));
    // Boxes have places in large images, and small differences decide which of them overlap.
    const bool wide =
        wide_.computed[static_cast<size_t>(id)] || ComparesWide(node) || node.op == Op::kSuppress;
    const DType dtype = wide ? DType::kF32 : dtype_;
    const bool float_cast = node.op == Op::kCast && Convertible(from_[node.operands[0]].type.dtype);
    if (float_cast && Convertible(node.type.dtype)) return As(node.operands[0], dtype);
    for (ValueId& operand : node.operands) {
      if (operand == kNoValue) continue;
      const ValueId mapped = ids_[static_cast<size_t>(operand)];
      // A cast to another kind of number takes what there is.
      const bool as_is = float_cast && mapped != kNoValue;
      operand = Convertible(from_[operand].type.dtype) && !as_is ? As(operand, dtype) : mapped;
    }
    const bool of_float8 = IsProductOfFloat8(from_, from_[id]);
    if (Convertible(node.type.dtype)) node.type.dtype = of_float8 ? DType::kF32 : dtype;
    if (node.op == Op::kPad) node.attrs["value"] = Clamped(node.type.dtype, node.Float("value"));
    const ValueId result = to_.Add(std::move(node));
    const bool narrow_again =
        wide && !wide_.kept[static_cast<size_t>(id)] && Convertible(from_[id].type.dtype);
    if (!narrow_again) return result;
    return Narrowed(result, wide_.large[static_cast<size_t>(id)]);
  }

  // Packed weights that are still here are read by products of the narrow type. They are not
  // decoded to doubles: their users convert what they stand for.
  ValueId Packed(Value node) {
    const auto type_of = [&](DType dtype) {
      return dtype_ != DType::kF64 && Convertible(dtype) ? dtype_ : dtype;
    };
    for (ValueId& operand : node.operands)
      operand = As(operand, type_of(from_[operand].type.dtype));
    node.type.dtype = type_of(node.type.dtype);
    return to_.Add(std::move(node));
  }

  // A comparison has a result of its own kind and computes in the wider of its operands' types.
  bool ComparesWide(const Value& node) const {
    if (node.op != Op::kPointwise || Convertible(node.type.dtype)) return false;
    return std::any_of(node.operands.begin(), node.operands.end(),
                       [&](ValueId operand) { return wide_.kept[static_cast<size_t>(operand)]; });
  }

  // The value of the old graph in the given float type.
  ValueId As(ValueId id, DType dtype) {
    const ValueId mapped = ids_[static_cast<size_t>(id)];
    if (mapped != kNoValue && to_[mapped].type.dtype == dtype) return mapped;
    const auto [found, inserted] = casts_.try_emplace({id, dtype}, kNoValue);
    if (!inserted) return found->second;
    ValueId result = kNoValue;
    if (mapped == kNoValue) {
      result = ConvertedConstant(from_[id], dtype);
    } else if (dtype == dtype_ && wide_.large[static_cast<size_t>(id)]) {
      result = Narrowed(mapped, true);
    } else {
      result = Cast(mapped, dtype);
    }
    casts_[{id, dtype}] = result;
    return result;
  }

  ValueId ConvertedConstant(const Value& constant, DType dtype) {
    Value node = constant;
    node.type.dtype = dtype;
    if (!node.data) {
      node.attrs["value"] = Clamped(dtype, node.Float("value"));
    } else if (constant.type.dtype != dtype) {
      TensorDataRef& converted = converted_[{constant.data.get(), dtype}];
      if (!converted) converted = ConvertData(*constant.data, dtype);
      node.data = converted;
    }
    return to_.Add(std::move(node));
  }

  ValueId Cast(ValueId value, DType dtype) {
    Value cast;
    cast.op = Op::kCast;
    cast.operands = {value};
    cast.type = {dtype, to_[value].type.dims, {}};
    cast.name = to_[value].name;
    return to_.Add(std::move(cast));
  }

  ValueId Narrowed(ValueId value, bool clamp) {
    if (clamp) {
      const double largest = LargestOf(dtype_);
      value = to_.Pointwise(ScalarOp::kMin, {value, to_.Splat(DType::kF32, largest)});
      value = to_.Pointwise(ScalarOp::kMax, {value, to_.Splat(DType::kF32, -largest)});
    }
    return Cast(value, dtype_);
  }

  const Graph& from_;
  Graph to_;
  DType dtype_;
  WideValues wide_;
  std::vector<ValueId> ids_;  // in the new graph; kNoValue for constants of floats
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<std::pair<const TensorData*, DType>, TensorDataRef> converted_;
};

// Products that a matrix unit may take with operands of 10 bits; one channel a group is no product.
bool IsTf32Product(const Graph& graph, const Value& node) {
  if (node.type.dtype != DType::kF32) return false;
  if (node.op == Op::kConv)
    return graph[node.operands[1]].type.dims[1] > 1 || node.Int("group") == 1;
  return node.op == Op::kMatMul || node.op == Op::kAttention;
}

bool MarkTf32(Graph& graph) {
  bool changed = false;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!IsTf32Product(graph, graph[id]) || graph[id].Has("precision")) continue;
    if (IsProductOfFloat8(graph, graph[id])) continue;
    graph[id].attrs["precision"] = std::string("tf32");
    changed = true;
  }
  return changed;
}

bool HoldsOther(const Graph& graph, DType dtype) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    const DType held = graph[id].type.dtype;
    if (Convertible(held) && held != dtype) return true;
  }
  return false;
}

Result<bool> Convert(Graph& graph, DType dtype) {
  if (!HoldsOther(graph, dtype)) return false;
  WideValues wide;
  if (SizeOf(dtype) == 2) {
    wide = WideSearch(graph, dtype).Run();
  } else {
    const std::vector<bool> none(static_cast<size_t>(graph.size()), false);
    wide = {none, none, none};
  }
  graph = MLC_TRY(Conversion(graph, dtype, std::move(wide)).Run());
  return true;
}

}  // namespace

Result<bool> WidenToDouble(Graph& graph) { return Convert(graph, DType::kF64); }

std::string_view ToText(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)].name;
}

Result<Precision> ParsePrecision(std::string_view text) {
  for (size_t i = 0; i < kPrecisions.size(); ++i) {
    if (kPrecisions[i].name == text) return static_cast<Precision>(i);
  }
  return InvalidArgument("unknown precision '" + std::string(text.substr(0, 40)) +
                         "': use model, fp32, tf32, fp16 or bf16");
}

double ToleranceOf(Precision precision) {
  return kPrecisions[static_cast<size_t>(precision)].tolerance;
}

Result<bool> ConvertPrecision(Graph& graph, Precision precision) {
  if (precision == Precision::kModel) return false;
  DType dtype = DType::kF32;
  if (precision == Precision::kFp16) dtype = DType::kF16;
  if (precision == Precision::kBf16) dtype = DType::kBF16;
  bool changed = MLC_TRY(Convert(graph, dtype));
  if (precision == Precision::kTf32) changed = MarkTf32(graph) || changed;
  return changed;
}

}  // namespace mlc::graph
