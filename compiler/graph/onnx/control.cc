// Nodes with subgraphs: branches of If; iterations of Loop, Scan and SequenceMap, which are
// unrolled.
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/onnx/importer.h"
#include "compiler/graph/onnx/loop.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxIterations = 1 << 16;  // of all loops of a model

const GraphMessage* SubgraphOf(const NodeMessage& node, std::string_view name) {
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.name == name && attribute.graph != nullptr) return attribute.graph.get();
  }
  return nullptr;
}

std::vector<int64_t> IntsOf(const NodeMessage& node, std::string_view name) {
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.name == name) return attribute.ints;
  }
  return {};
}

int64_t EntryOf(const std::vector<int64_t>& values, size_t i) {
  return i < values.size() ? values[i] : 0;
}

}  // namespace

Result<std::vector<ValueId>> Importer::Subgraph(const NodeMessage& node, std::string_view name,
                                                std::span<const ValueId> inputs,
                                                const Scope& scope) {
  const GraphMessage* const graph = SubgraphOf(node, name);
  if (graph == nullptr) {
    return InvalidArgument(Describe(node) + ": attribute '" + std::string(name) + "' is missing");
  }
  if (graph->inputs.size() != inputs.size()) {
    return InvalidArgument(Describe(node) + ": the subgraph has " +
                           std::to_string(graph->inputs.size()) + " inputs instead of " +
                           std::to_string(inputs.size()));
  }
  Scope body;
  body.outer = &scope;
  body.opset = scope.opset;
  body.call = scope.call;
  for (size_t i = 0; i < inputs.size(); ++i) {
    MLC_TRY(Define(graph->inputs[i].name, inputs[i], body));
  }
  MLC_TRY(Initializers(*graph, body));
  MLC_TRY(Nodes(graph->nodes, body));
  std::vector<ValueId> results;
  for (const ValueMessage& output : graph->outputs) {
    const ValueId* const value = Find(output.name, body);
    if (value == nullptr) {
      return InvalidArgument(Describe(node) + ": the subgraph does not define its output " +
                             Quote(output.name));
    }
    if (*value == kUnknownValue) return Status(StatusCode::kCancelled, "needs a hidden value");
    results.push_back(*value);
  }
  return results;
}

Status Importer::DefineResults(const NodeMessage& node, std::span<const ValueId> values,
                               Scope& scope) {
  if (!builder_.ok()) return builder_.status().WithPrefix(Describe(node));
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k >= values.size())
      return InvalidArgument(Describe(node) + ": the subgraph has too few outputs");
    if (values[k] == kNoValue) {
      return Unimplemented(Describe(node) + ": result " + std::to_string(k) +
                           " of no iteration is not supported");
    }
    MLC_TRY(Define(node.outputs[k], values[k], scope));
  }
  return Status();
}

// A known condition chooses its branch; another one computes both and selects, as branches have no
// effects.
Status Importer::If(const NodeMessage& node, Scope& scope) {
  const std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  if (operands.size() != 1 || operands[0] == kNoValue ||
      builder_.DTypeOf(operands[0]) != DType::kBool ||
      builder_.TypeOf(operands[0]).NumElements() != 1) {
    return InvalidArgument(Describe(node) + ": the condition must be one bool");
  }
  if (builder_.IsConstant(operands[0])) {
    const Dims condition = builder_.Ints(operands[0], "the condition");
    const bool yes = !condition.empty() && condition[0] != 0;
    const std::vector<ValueId> chosen =
        MLC_TRY(Subgraph(node, yes ? "then_branch" : "else_branch", {}, scope));
    return DefineResults(node, chosen, scope);
  }
  const std::vector<ValueId> yes = MLC_TRY(Subgraph(node, "then_branch", {}, scope));
  const std::vector<ValueId> no = MLC_TRY(Subgraph(node, "else_branch", {}, scope));
  const ValueId condition = builder_.Reshape(operands[0], {});
  std::vector<ValueId> chosen;
  for (size_t k = 0; k < std::min(yes.size(), no.size()); ++k) {
    if (Sequences::Is(yes[k]) || Sequences::Is(no[k])) {
      return Unimplemented(Describe(node) +
                           ": branches that give sequences need a constant condition");
    }
    if (builder_.DimsOf(yes[k]) != builder_.DimsOf(no[k])) {
      return Unimplemented(Describe(node) +
                           ": branches of different shapes need a constant condition");
    }
    chosen.push_back(builder_.Select(condition, yes[k], no[k]));
  }
  return DefineResults(node, chosen, scope);
}

Status Importer::CountIteration(const NodeMessage& node) {
  if (++iterations_ <= kMaxIterations) return Status();
  return Unimplemented(Describe(node) + ": the model's loops have more than " +
                       std::to_string(kMaxIterations) + " iterations");
}

// The number of iterations must be known; where conditions are not, it is the most.
Status Importer::Loop(const NodeMessage& node, Scope& scope) {
  const std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  if (operands.size() < 2) return InvalidArgument(Describe(node) + " has too few operands");
  std::optional<int64_t> trips;
  if (operands[0] != kNoValue) {
    const Dims given = builder_.Ints(operands[0], "the number of iterations");
    if (builder_.ok() && given.size() != 1) {
      return InvalidArgument(Describe(node) + ": the number of iterations must be a scalar");
    }
    if (builder_.ok()) trips = given[0];
  }
  UnrolledLoop loop(builder_, {operands.begin() + 2, operands.end()}, operands[1], trips);
  while (loop.GoesOn()) {
    MLC_TRY(CountIteration(node));
    loop.Take(MLC_TRY(Subgraph(node, "body", loop.Inputs(), scope)));
  }
  counted_.Enter(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name);
  std::vector<ValueId> results = loop.Results(counted_, node.outputs.size());
  results.resize(std::max(results.size(), node.outputs.size()), kNoValue);
  return DefineResults(node, results, scope);
}

Status Importer::Scan(const NodeMessage& node, Scope& scope) {
  if (scope.opset < 9)
    return Unimplemented(Describe(node) + ": Scan before version 9 is not supported");
  const std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  int64_t scanned = 0;
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.name == "num_scan_inputs") scanned = attribute.i;
  }
  if (scanned < 1 || scanned > static_cast<int64_t>(operands.size()) ||
      std::count(operands.begin(), operands.end(), kNoValue) > 0) {
    return InvalidArgument(Describe(node) + ": num_scan_inputs does not fit the operands");
  }
  const size_t carried = operands.size() - static_cast<size_t>(scanned);
  std::vector<ValueId> state(operands.begin(), operands.begin() + static_cast<int64_t>(carried));
  const std::span<const ValueId> sequences = std::span(operands).subspan(carried);
  std::vector<int64_t> axes = IntsOf(node, "scan_input_axes");
  axes.resize(sequences.size(), 0);
  for (size_t k = 0; k < sequences.size(); ++k) {
    const int64_t rank = builder_.RankOf(sequences[k]);
    if (axes[k] < 0) axes[k] += rank;
    if (axes[k] < 0 || axes[k] >= rank ||
        builder_.Dim(sequences[k], axes[k]) != builder_.Dim(sequences[0], axes[0])) {
      return InvalidArgument(Describe(node) + ": the scanned operands do not fit each other");
    }
  }
  const int64_t length = builder_.Dim(sequences[0], axes[0]);
  const std::vector<int64_t> backwards = IntsOf(node, "scan_input_directions");
  std::vector<std::vector<ValueId>> scans;
  for (int64_t i = 0; builder_.ok() && i < length; ++i) {
    MLC_TRY(CountIteration(node));
    std::vector<ValueId> inputs = state;
    for (size_t k = 0; k < sequences.size(); ++k) {
      const int64_t at = EntryOf(backwards, k) == 1 ? length - 1 - i : i;
      Dims dims = builder_.DimsOf(sequences[k]);
      dims.erase(dims.begin() + axes[k]);
      inputs.push_back(builder_.Reshape(builder_.SliceAxis(sequences[k], axes[k], at, 1), dims));
    }
    const std::vector<ValueId> results = MLC_TRY(Subgraph(node, "body", inputs, scope));
    if (results.size() < carried) {
      return InvalidArgument(Describe(node) + ": the body has too few outputs");
    }
    state.assign(results.begin(), results.begin() + static_cast<int64_t>(carried));
    scans.resize(results.size() - carried);
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(results[carried + k]);
  }
  const std::vector<int64_t> out_axes = IntsOf(node, "scan_output_axes");
  const std::vector<int64_t> out_backwards = IntsOf(node, "scan_output_directions");
  for (size_t k = 0; k < scans.size(); ++k) {
    if (EntryOf(out_backwards, k) == 1) std::reverse(scans[k].begin(), scans[k].end());
    const int64_t axis = EntryOf(out_axes, k);
    state.push_back(
        StackParts(builder_, scans[k], axis < 0 ? axis + builder_.RankOf(scans[k][0]) + 1 : axis));
  }
  state.resize(std::max(state.size(), node.outputs.size()), kNoValue);
  return DefineResults(node, state, scope);
}

// The body once for each tensor of the first sequence. Of an empty one no body runs, so that the
// types that the body declares are those of the results.
Status Importer::SequenceMap(const NodeMessage& node, Scope& scope) {
  const std::vector<ValueId> operands = MLC_TRY(Operands(node, scope));
  const GraphMessage* const body = SubgraphOf(node, "body");
  if (operands.empty() || !Sequences::Is(operands[0]) || body == nullptr) {
    return InvalidArgument(Describe(node) + " needs a body, and a sequence as its first operand");
  }
  const size_t length = sequences_.At(operands[0]).tensors.size();
  std::vector<TensorSequence> mapped(body->outputs.size());
  for (size_t k = 0; k < mapped.size(); ++k) {
    const Result<DType> declared = DTypeOf(body->outputs[k].elem_type);
    if (!declared.ok() && length == 0) return declared.status().WithPrefix(Describe(node));
    if (declared.ok()) mapped[k].dtype = *declared;
  }
  for (size_t i = 0; builder_.ok() && i < length; ++i) {
    MLC_TRY(CountIteration(node));
    std::vector<ValueId> inputs = operands;
    for (ValueId& input : inputs) {
      if (!Sequences::Is(input)) continue;
      const std::vector<ValueId>& tensors = sequences_.At(input).tensors;
      if (tensors.size() != length) {
        return InvalidArgument(Describe(node) + ": the sequences have " + std::to_string(length) +
                               " and " + std::to_string(tensors.size()) + " tensors");
      }
      input = tensors[i];
    }
    const std::vector<ValueId> results = MLC_TRY(Subgraph(node, "body", inputs, scope));
    for (size_t k = 0; builder_.ok() && k < results.size(); ++k) {
      if (results[k] < 0) {
        return InvalidArgument(Describe(node) + ": the results of the body must be tensors");
      }
      mapped[k].dtype = builder_.DTypeOf(results[k]);
      mapped[k].tensors.push_back(results[k]);
    }
  }
  std::vector<ValueId> sequences;
  for (TensorSequence& sequence : mapped) {
    sequences.push_back(sequences_.Add(builder_, std::move(sequence)));
  }
  return DefineResults(node, sequences, scope);
}

}  // namespace mlc::graph::onnx
