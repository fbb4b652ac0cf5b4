#include "compiler/graph/onnx/importer.h"

#include <optional>
#include <utility>

#include "compiler/graph/onnx/dim_sums.h"
#include "compiler/graph/onnx/supported_forms.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

// The node with references to attributes of the enclosing function's call replaced by them. An
// attribute that the call leaves out is absent.
NodeMessage ResolveReferences(const NodeMessage& node, const std::vector<AttributeMessage>& call) {
  NodeMessage resolved = node;
  resolved.attributes.clear();
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.ref.empty()) {
      resolved.attributes.push_back(attribute);
      continue;
    }
    for (const AttributeMessage& given : call) {
      if (given.name != attribute.ref) continue;
      resolved.attributes.push_back(given);
      resolved.attributes.back().name = attribute.name;
    }
  }
  return resolved;
}

bool HasReferences(const NodeMessage& node) {
  for (const AttributeMessage& attribute : node.attributes) {
    if (!attribute.ref.empty()) return true;
  }
  return false;
}

// Trailing empty names stand for optional operands and results that are left out.
size_t CountNames(const std::vector<std::string_view>& names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

Status CheckCount(const NodeMessage& node, std::string_view what, size_t count, int most) {
  if (count <= static_cast<size_t>(most)) return Status();
  return InvalidArgument(Describe(node) + " has " + std::to_string(count) + " " +
                         std::string(what) + ", and the operator has " + std::to_string(most) +
                         " at most: leave the others out of the node");
}

// A handler does not see operands beyond those that it asks for: they would be dropped in silence.
Status CheckArity(const NodeMessage& node, const OpRow& row) {
  MLC_TRY(CheckCount(node, "operands", CountNames(node.inputs), row.max_inputs));
  return CheckCount(node, "results", CountNames(node.outputs), row.max_outputs);
}

// Other operators take tensors alone.
Status CheckSequences(const NodeMessage& node, const OpRow& row,
                      const std::vector<ValueId>& operands, const Sequences& sequences) {
  if (row.takes_sequences) return Status();
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!Sequences::Is(operands[k])) continue;
    if (sequences.At(operands[k]).is_nothing) {
      return InvalidArgument(Describe(node) + " reads the optional value " + Quote(node.inputs[k]) +
                             ", which holds nothing: ask with OptionalHasElement first");
    }
    return InvalidArgument(Describe(node) + " reads the sequence " + Quote(node.inputs[k]) +
                           ", and the operator takes tensors: choose one with SequenceAt");
  }
  return Status();
}

// The counts of all dimensions whose length a run decides are the last output.
void AddCounts(const CountedDims& counted, Builder& builder, Graph& graph) {
  std::vector<ValueId> counts;
  for (const CountedDim& dim : counted.dims()) counts.push_back(dim.count);
  if (counts.empty() || !builder.ok()) return;
  graph.outputs().push_back(builder.Concat(std::move(counts), 0));
  graph.output_names().emplace_back(kCountsOutput);
}

}  // namespace

bool IsControl(std::string_view op_type) {
  return op_type == "If" || op_type == "Loop" || op_type == "Scan" || op_type == "SequenceMap";
}

bool IsSupported(const NodeMessage& node) {
  if (IsDefaultDomain(node.domain) && IsControl(node.op_type)) return true;
  return FindOperator(node.domain, node.op_type) != nullptr;
}

Result<Graph> Importer::Run(std::vector<CountedShape>* counted) {
  Scope scope;
  const Result<int64_t> opset = DefaultOpset(model_.opsets, "the model");
  if (!opset.ok() && notes_ == nullptr) return opset.status();
  scope.opset = opset.ok() ? *opset : kMaxOpset;
  MLC_TRY(Initializers(model_.graph, scope));
  MLC_TRY(Inputs(scope));
  MLC_TRY(CheckOptionsUsed());
  MLC_TRY(Nodes(model_.graph.nodes, scope));
  MLC_TRY(Outputs(scope));
  AddCounts(counted_, builder_, graph_);
  for (const CountedDim& dim : counted_.dims()) {
    if (counted != nullptr) counted->push_back({dim.name, dim.most, dim.length});
  }
  if (notes_ != nullptr) return std::move(graph_);
  graph_.Compact();
  MLC_TRY(graph_.Verify());
  return std::move(graph_);
}

Status Importer::Define(std::string_view name, ValueId value, Scope& scope) {
  if (!scope.values.emplace(name, value).second) {
    return InvalidArgument("value " + Quote(name) + " is defined twice");
  }
  if (graph_.size() > options_.max_values) {
    return InvalidArgument("the model expands to more than " + std::to_string(options_.max_values) +
                           " values");
  }
  return Status();
}

const ValueId* Importer::Find(std::string_view name, const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    const auto found = at->values.find(name);
    if (found != at->values.end()) return &found->second;
  }
  return nullptr;
}

Status Importer::Initializers(const GraphMessage& graph, Scope& scope) {
  if (graph.sparse_initializers > 0) {
    MLC_TRY(NoteObstacle(ObstacleKind::kConstant, "",
                         Unimplemented("sparse initializers are not supported"), scope));
  }
  for (const TensorMessage& tensor : graph.initializers) {
    const Result<TensorDataRef> data = ReadTensor(tensor, file_, &files_);
    if (!data.ok()) {
      MLC_TRY(NoteObstacle(ObstacleKind::kConstant, tensor.name, data.status(), scope));
      continue;
    }
    const ValueId value = graph_.Constant(*data, Printable(tensor.name));
    const Result<DType> stored = DTypeOf(tensor.data_type);
    if (stored.ok() && *stored != (*data)->dtype) RememberStoredType(builder_, value, *stored);
    MLC_TRY(Define(tensor.name, value, scope));
  }
  return Status();
}

Status Importer::Inputs(Scope& scope) {
  std::set<std::string_view> seen;
  for (const ValueMessage& input : model_.graph.inputs) {
    if (!seen.insert(input.name).second) {
      return InvalidArgument("input " + Quote(input.name) + " is defined twice");
    }
    const auto bound = options_.bound_inputs.find(std::string(input.name));
    if (bound != options_.bound_inputs.end()) {
      used_bindings_.insert(bound->first);
      MLC_TRY(BindInput(input, bound->second, scope));
    } else if (scope.values.find(input.name) == scope.values.end()) {
      // An initializer of the same name is the input's value.
      const int64_t sizes_before = notes_ == nullptr ? 0 : notes_->sizes();
      const Result<TensorType> type = TypeOfInput(input);
      if (!type.ok()) {
        MLC_TRY(NoteObstacle(ObstacleKind::kInput, input.name, type.status(), scope));
        continue;
      }
      const ValueId value = graph_.Input(*type, std::string(input.name));
      MLC_TRY(Define(input.name, value, scope));
      if (notes_ != nullptr && notes_->sizes() > sizes_before) notes_->Assume(value);
    }
  }
  return Status();
}

Status Importer::BindInput(const ValueMessage& input, const TensorDataRef& data, Scope& scope) {
  const std::string what = "input " + Quote(input.name);
  const Result<DType> declared = DTypeOf(input.elem_type);
  if (!declared.ok()) return declared.status().WithPrefix(what);
  if (data == nullptr || data->dtype != *declared) {
    return InvalidArgument(what + " is bound to a tensor of another element type");
  }
  if (input.has_shape) {
    bool fits = input.dims.size() == data->dims.size();
    for (size_t i = 0; fits && i < input.dims.size(); ++i) {
      fits = !input.dims[i].has_value || input.dims[i].value < 0 ||
             input.dims[i].value == data->dims[i];
    }
    if (!fits) return InvalidArgument(what + " is bound to a tensor of another shape");
  }
  scope.values[input.name] = graph_.Constant(data, Printable(input.name));
  return Status();
}

Result<int64_t> Importer::SizeOfDim(const ValueMessage& input, size_t axis) {
  const DimMessage& dim = input.dims[axis];
  if (dim.has_value && dim.value >= 0) return dim.value;
  const std::string name = NameOfDim(input, axis);
  const std::optional<int64_t> size = SizeOfName(name, options_, used_dims_);
  if (!size) {
    if (notes_ != nullptr) {
      notes_->AddSize(input.name, name);
      return 1;
    }
    // A size of a misspelt name is perhaps the one that is missing here.
    MLC_TRY(CheckDimNames(model_, options_));
    return InvalidArgument("input " + Quote(input.name) + " has the symbolic dimension " +
                           Quote(name) + ": give its size with --dim " + Printable(name) +
                           "=<size>");
  }
  if (*size < 0) return InvalidArgument("--dim " + Printable(name) + " must not be negative");
  return *size;
}

Result<TensorType> Importer::TypeOfInput(const ValueMessage& input) {
  const std::string what = "input " + Quote(input.name);
  if (!input.is_tensor) return Unimplemented(what + " is not a tensor");
  if (!input.has_shape) return Unimplemented(what + " has no shape: bind it to a value");
  const Result<DType> dtype = DTypeOf(input.elem_type);
  if (!dtype.ok()) return dtype.status().WithPrefix(what);
  TensorType type;
  type.dtype = *dtype;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    type.dims.push_back(MLC_TRY(SizeOfDim(input, i)));
  }
  MLC_TRY(CheckedElements(type.dims, type.dtype, what));
  return type;
}

Status Importer::CheckOptionsUsed() const {
  for (const auto& [name, size] : options_.dims) {
    if (used_dims_.find(name) == used_dims_.end()) return NoDimOf(name, model_);
  }
  for (const auto& [name, data] : options_.bound_inputs) {
    if (used_bindings_.find(name) == used_bindings_.end()) {
      return InvalidArgument("the model has no input " + Quote(name) + " to bind");
    }
  }
  return Status();
}

Status Importer::Outputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) return InvalidArgument("the model has no outputs");
  for (const ValueMessage& output : model_.graph.outputs) {
    const ValueId* const value = Find(output.name, scope);
    if (value == nullptr) {
      return InvalidArgument("output " + Quote(output.name) + " is not defined");
    }
    if (Sequences::Is(*value)) {
      const Status sequence =
          Unimplemented("output " + Quote(output.name) +
                        " is a sequence, and a library has tensors as outputs: join it with "
                        "ConcatFromSequence, or make each of its tensors an output");
      if (notes_ == nullptr) return sequence;
      notes_->Add({ObstacleKind::kModel, "output", {}, 0, sequence.message(), SupportedTypes()},
                  output.name);
      continue;
    }
    graph_.outputs().push_back(*value);
    graph_.output_names().emplace_back(output.name);
  }
  return Status();
}

Result<std::vector<ValueId>> Importer::Operands(const NodeMessage& node, const Scope& scope) {
  std::vector<ValueId> operands;
  for (const std::string_view name : node.inputs) {
    if (name.empty()) {
      operands.push_back(kNoValue);
      continue;
    }
    const ValueId* const value = Find(name, scope);
    if (value == nullptr) {
      return InvalidArgument(Describe(node) + " reads " + Quote(name) +
                             ", which is not defined before it");
    }
    if (*value == kUnknownValue) return Status(StatusCode::kCancelled, "needs a hidden value");
    operands.push_back(*value);
  }
  return operands;
}

Status Importer::Nodes(const std::vector<NodeMessage>& nodes, Scope& scope) {
  for (const NodeMessage& node : nodes) {
    const bool refers = scope.call != nullptr && HasReferences(node);
    const Status lowered =
        refers ? Node(ResolveReferences(node, *scope.call), scope) : Node(node, scope);
    if (!lowered.ok()) MLC_TRY(NoteFailure(node, lowered, scope));
  }
  return Status();
}

Status Importer::Node(const NodeMessage& node, Scope& scope) {
  const auto function = functions_.find(KeyOf(node));
  if (function != functions_.end()) return Call(node, *function->second, scope);
  if (IsDefaultDomain(node.domain)) {
    if (node.op_type == "If") return If(node, scope);
    if (node.op_type == "Loop") return Loop(node, scope);
    if (node.op_type == "Scan") return Scan(node, scope);
    if (node.op_type == "SequenceMap") return SequenceMap(node, scope);
  }
  const OpRow* const row = FindOperator(node.domain, node.op_type);
  if (row == nullptr) return Unimplemented(Describe(node) + ": the operator is not supported");
  MLC_TRY(CheckArity(node, *row));
  std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  MLC_TRY(CheckSequences(node, *row, operands, sequences_));
  const bool is_assumed = notes_ != nullptr && notes_->IsAnyAssumed(operands);
  OpContext context(builder_, node, std::move(operands), scope.opset, decoded_, counted_,
                    sequences_, ReadAttribute, this);
  counted_.Enter(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
  row->handler(context);
  if (!builder_.ok()) return builder_.status().WithPrefix(Describe(node));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    const ValueId value = context.results()[k];
    if (is_assumed) notes_->Assume(value);
    if (value == kNoValue) {
      return Unimplemented(Describe(node) + ": result " + std::to_string(k) + " is not supported");
    }
    const bool is_named = Sequences::Is(value) || !graph_[value].name.empty();
    if (!is_named) graph_[value].name = Printable(node.outputs[k]);
    Status defined = Define(node.outputs[k], value, scope);
    if (!defined.ok()) return defined.WithPrefix(Describe(node));
  }
  return Status();
}

Status Importer::Call(const NodeMessage& node, const FunctionMessage& function, Scope& scope) {
  const std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  if (operands.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) {
    return InvalidArgument(Describe(node) + " does not fit the function's parameters");
  }
  std::vector<AttributeMessage> attributes = node.attributes;
  for (const AttributeMessage& standard : function.defaults) {
    bool given = false;
    for (const AttributeMessage& attribute : node.attributes) {
      given = given || attribute.name == standard.name;
    }
    if (!given) attributes.push_back(standard);
  }
  Scope body;
  body.call = &attributes;
  body.opset = scope.opset;
  if (!function.opsets.empty()) {
    const Result<int64_t> own = DefaultOpset(function.opsets, "function");
    if (own.ok()) body.opset = *own;
  }
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const ValueId value = i < operands.size() ? operands[i] : kNoValue;
    MLC_TRY(Define(function.inputs[i], value, body));
  }
  Status lowered = Nodes(function.nodes, body);
  if (!lowered.ok()) return lowered.WithPrefix(Describe(node));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    const ValueId* const value = Find(function.outputs[k], body);
    if (value == nullptr || *value == kNoValue) {
      return InvalidArgument(Describe(node) + ": the function does not define its output " +
                             Quote(function.outputs[k]));
    }
    MLC_TRY(Define(node.outputs[k], *value, scope));
  }
  return Status();
}

Result<TensorDataRef> Importer::ReadAttribute(void* importer, const TensorMessage& tensor) {
  Importer& self = *static_cast<Importer*>(importer);
  return ReadTensor(tensor, self.file_, &self.files_);
}

}  // namespace mlc::graph::onnx
