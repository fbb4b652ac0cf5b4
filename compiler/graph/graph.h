// The graph: our SSA form of a model, and of every fused subgraph cut from it. Each value is the
// one result of one node, in topological order; ids are indices. Shapes are static. Logical
// dimensions keep ONNX's order (images are N,C,H,W); the physical layout of a value is its strides,
// so NHWC is f32[1,64,56,56]{200704,1,3584,64} and a transpose is a change of strides, not of data.
// Values; thread-compatible: const access from several threads is safe.
//
// Text form (canonical; Parse(ToText(g)) == g):
//   graph  := "graph v1 {" line* "return" "%"id ("," "%"id)* "}"
//   line   := "%"id "=" op "(" ("%"id | "_") ("," ...)* ")" [attrs] ":" type
//   attrs  := "{" key "=" value ("," key "=" value)* "}"      keys in alphabetical order
//   value  := int | float | "[" int,* "]" | word
//   type   := dtype "[" int,* "]" ["{" stride,* "}"]
// Sources are input(), weight() and constant(): {value=...} is a splat, {values=[...]} tensor data
// of at most 16 elements, {data=x<digest>} larger tensor data (whose bytes the text does not carry:
// the parsed graph knows them by digest only and cannot be evaluated). ops.h lists attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc::graph {

struct TensorType {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  // In elements, one per dimension; empty means dense row-major. 0 where a dimension is broadcast.
  std::vector<int64_t> strides;

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t NumElements() const;
  // The strides, computed for a dense type.
  std::vector<int64_t> EffectiveStrides() const;
  // Elements from the first to one past the last one addressed.
  int64_t Extent() const;
  bool IsDense() const;
  std::string ToText() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Row-major strides of `dims`.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& dims);
// Strides that make dimension 1 (channels) the innermost of an N,C,spatial... tensor.
std::vector<int64_t> ChannelsLastStrides(const std::vector<int64_t>& dims);

// Immutable tensor bytes, dense row-major. `owner` keeps the bytes alive (a mapped file, a vector):
// weights are never copied on their way from the model file.
struct TensorData {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
using TensorDataRef = std::shared_ptr<const TensorData>;
TensorDataRef MakeTensorData(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes);

enum class Op : uint8_t {
  // Sources
  kInput,   // a run-time operand
  kWeight,  // a workload's operand that is constant at compile time; its values are not part of it
  kConstant,  // known values: a splat (attr value) or data
  // Pointwise: `scalar` says which; operands broadcast as in ONNX (numpy rules)
  kPointwise,
  kCast,  // to the type's dtype
  // Contractions
  kMatMul,  // [..., M, K] x [..., K, N], leading dimensions broadcast; u8 by i8 gives i32
  kConv,  // (x[N,C,s...], w[O,C/group,k...]) attrs strides pads dilations group; pads: begins, ends
  kAttention,  // (q[B,H,S,D], k[B,H,T,D], v[B,H,T,E], mask?, keys?) attr scale: softmax(scale*q k^T
               // + mask) v over the first of T keys, whose number i32[1] is 1 to T
  // Windows and reductions
  kPool,        // attrs kind=max|avg kernel strides pads dilations count_include_pad
  kReduce,      // attrs kind=sum|mean|max|min|prod|l1|l2|sum_square|log_sum_exp axes keepdims
  kArg,         // attrs kind=max|min axis keepdims select_last; gives i64
  kSoftmax,     // attr axis
  kLogSoftmax,  // attr axis
  kLayerNorm,   // (x, scale?, bias?) attrs axis epsilon kind: over dimensions axis..rank-1
  // Data movement
  kTranspose,        // attr perm
  kReshape,          // to the type's dims
  kExpand,           // to the type's dims
  kSlice,            // attrs starts steps, one per dimension; sizes are the type's
  kConcat,           // attr axis
  kPad,              // attrs pads mode=constant|reflect|edge|wrap value
  kGather,           // (data, indices) attr axis
  kGatherElements,   // attr axis
  kGatherND,         // attr batch_dims
  kScatterElements,  // (data, indices, updates) attrs axis reduction
  kScatterND,        // attr reduction
  kResize,           // attrs in ops.h
  kTile,             // attr repeats
  kTrilu,            // attrs upper k
  kCumSum,           // attrs axis exclusive reverse
  kNonZero,          // (x[N] of bool): places of what is true, then zeros; to the type's dims
  kSuppress,  // (boxes[B,N,4], scores[B,C,N], most[1], overlap[1], least[1]) attr center; ops.h
  // Physical
  kView,  // the operand's storage seen as the type's dims and strides, from attr offset (elements)
  kCopy,  // the same values, materialised in the type's strides
  kDequantize,  // (codes, scales, zeros?) attrs bits block depth zero; see packed_matrix.h
};

// "input", "matmul", ... ; a pointwise node is spelled by its scalar operator.
std::string_view ToText(Op op);

using AttrValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using Attrs = std::map<std::string, AttrValue, std::less<>>;

using ValueId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an optional operand that is absent

struct Value {
  Op op = Op::kInput;
  ScalarOp scalar = ScalarOp::kAdd;  // for kPointwise
  std::vector<ValueId> operands;
  Attrs attrs;
  TensorType type;
  TensorDataRef data;  // kConstant with tensor data
  // For messages and reports only; from the model, never part of text forms or generated code.
  std::string name;

  // REQUIRES: the attribute exists with that type (the verifier guarantees it by op).
  int64_t Int(std::string_view key) const;
  double Float(std::string_view key) const;
  const std::vector<int64_t>& Ints(std::string_view key) const;
  const std::string& Word(std::string_view key) const;
  bool Has(std::string_view key) const { return attrs.find(key) != attrs.end(); }
};

class Graph {
 public:
  // Appends a node; operands must already exist. Fills in the defaults of absent attributes and
  // returns its id. The type is the caller's; see shape.h to infer it.
  ValueId Add(Value value);
  ValueId Input(TensorType type, std::string name = {});
  ValueId Splat(DType dtype, double value);  // rank 0
  ValueId Constant(TensorDataRef data, std::string name = {});
  ValueId Pointwise(ScalarOp op, std::vector<ValueId> operands);  // infers the broadcast type

  int size() const { return static_cast<int>(values_.size()); }
  const Value& operator[](ValueId id) const { return values_[static_cast<size_t>(id)]; }
  Value& operator[](ValueId id) { return values_[static_cast<size_t>(id)]; }
  std::vector<ValueId>& outputs() { return outputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // Names of the model's outputs, parallel to outputs(); empty in workloads.
  std::vector<std::string>& output_names() { return output_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  // Ids of the kInput values, in order.
  std::vector<ValueId> Inputs() const;
  // users[v] lists the nodes that read v, once per read.
  std::vector<std::vector<ValueId>> Users() const;
  // Every use of `from`, outputs included, becomes `to`.
  void ReplaceUses(ValueId from, ValueId to);
  // Drops values that no output needs (inputs stay) and renumbers; sorts topologically first.
  void Compact();

  std::string ToText() const;
  static Result<Graph> Parse(std::string_view text);
  // Operand counts, attributes, shapes and types of every node; names the first offender.
  Status Verify() const;

 private:
  std::vector<Value> values_;
  std::vector<ValueId> outputs_;
  std::vector<std::string> output_names_;
};

// numpy broadcasting of two shapes.
Result<std::vector<int64_t>> BroadcastDims(const std::vector<int64_t>& a,
                                           const std::vector<int64_t>& b);

}  // namespace mlc::graph
