// One node for its handler: operands, attributes and results. As in Builder, errors are sticky: a
// failing getter returns a harmless value and records the error; the importer checks once after the
// handler. A handler returns early only where it cannot continue with wrong values. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/onnx/builder.h"
#include "compiler/graph/onnx/counted_dims.h"
#include "compiler/graph/onnx/decoded_weights.h"
#include "compiler/graph/onnx/model.h"
#include "compiler/graph/onnx/sequences.h"

namespace mlc::graph::onnx {

class OpContext {
 public:
  // Reads a tensor attribute's data.
  using TensorReader = Result<TensorDataRef> (*)(void* importer, const TensorMessage& tensor);

  OpContext(Builder& builder, const NodeMessage& node, std::vector<ValueId> operands, int64_t opset,
            DecodedWeights& decoded, CountedDims& counted, Sequences& sequences,
            TensorReader read_tensor, void* importer)
      : b(builder),
        decoded(decoded),
        counted(counted),
        sequences(sequences),
        node_(node),
        operands_(std::move(operands)),
        opset_(opset),
        read_tensor_(read_tensor),
        importer_(importer),
        results_(node.outputs.size(), kNoValue) {}

  Builder& b;               // NOLINT: the one word that every formula starts with
  DecodedWeights& decoded;  // NOLINT: of the whole import
  CountedDims& counted;     // NOLINT: of the whole import
  Sequences& sequences;     // NOLINT: of the whole import

  bool ok() const { return b.ok(); }
  // The version of the node's operator set.
  int64_t opset() const { return opset_; }
  std::string_view op_type() const { return node_.op_type; }
  void Fail(std::string why) { b.Fail(std::move(why)); }
  void Unsupported(std::string what) {
    b.Fail(Unimplemented(std::move(what) + " is not supported"));
  }

  // Operands: Has() for optional ones; In() fails if it is absent.
  int OperandCount() const { return static_cast<int>(operands_.size()); }
  bool Has(int i) const {
    return i >= 0 && i < OperandCount() && operands_[static_cast<size_t>(i)] >= 0;
  }
  ValueId In(int i);
  // A constant operand's elements.
  Dims IntsIn(int i);
  // A constant operand; null if it is absent, or after an error.
  TensorDataRef DataIn(int i);

  // Attributes, with the default of an absent one.
  const AttributeMessage* Attr(std::string_view name, AttrKind kind);
  bool HasAttr(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t fallback);
  int64_t RequiredInt(std::string_view name);
  bool Flag(std::string_view name, bool fallback);  // fails on numbers other than 0 and 1
  double Float(std::string_view name, double fallback);
  std::string Text(std::string_view name, std::string_view fallback);
  Dims Ints(std::string_view name, const Dims& fallback = {});
  std::vector<double> Floats(std::string_view name);
  TensorDataRef Tensor(std::string_view name);

  // Results. Unused optional outputs may be left out.
  int OutputCount() const { return static_cast<int>(node_.outputs.size()); }
  bool IsOutputUsed(int k) const {
    return k < OutputCount() && !node_.outputs[static_cast<size_t>(k)].empty();
  }
  void Out(ValueId value, int k = 0);
  const std::vector<ValueId>& results() const { return results_; }

 private:
  friend ValueId AnyOperand(const OpContext& c, int i);

  const NodeMessage& node_;
  std::vector<ValueId> operands_;
  int64_t opset_;
  TensorReader read_tensor_;
  void* importer_;
  std::vector<ValueId> results_;
};

using Handler = void (*)(OpContext& c);

// No limit on operands or results.
inline constexpr int kVariadic = std::numeric_limits<int>::max();

// A row of an operator table: the handler of an operator, and the largest number of operands and
// results over all its versions. All versions are supported unless `limits` says otherwise.
struct OpRow {
  std::string_view op_type;
  Handler handler;
  int max_inputs;
  int max_outputs;
  std::string_view limits = {};  // what is not supported, for the list of operators
  bool takes_sequences = false;  // as operands, beside tensors
};

}  // namespace mlc::graph::onnx
