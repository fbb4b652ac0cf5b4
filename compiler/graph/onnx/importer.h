// Lowers the nodes of one model, in order, into one graph. Functions are inlined and the branches
// of If lowered in place, each in a scope of its own. Not thread-safe; lives for one import.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/builder.h"
#include "compiler/graph/onnx/counted_dims.h"
#include "compiler/graph/onnx/decoded_weights.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/model.h"
#include "compiler/graph/onnx/op_context.h"
#include "compiler/graph/onnx/preflight.h"
#include "compiler/graph/onnx/sequences.h"
#include "compiler/graph/onnx/survey_notes.h"

namespace mlc::graph::onnx {

// If, Loop, Scan and SequenceMap.
bool IsControl(std::string_view op_type);
// True for operators that can be lowered.
bool IsSupported(const NodeMessage& node);

class Importer {
 public:
  // All arguments outlive the importer; `file` also outlives the graph, by reference.
  Importer(const ModelMessage& model, const FunctionTable& functions, MappedFileRef file,
           ExternalFiles& files, const ImportOptions& options, SurveyNotes* notes = nullptr)
      : model_(model),
        functions_(functions),
        file_(std::move(file)),
        files_(files),
        options_(options),
        notes_(notes),
        builder_(graph_, options.folds.get()),
        decoded_(options.max_decoded_bytes),
        counted_(options.bounded_shapes, options.counted_lengths) {}

  // Runs the import. With notes, it continues after nodes that it cannot lower, and the returned
  // graph is incomplete: use it for nothing. REQUIRES: called once.
  // `counted`: as of ImportOnnx.
  Result<Graph> Run(std::vector<CountedShape>* counted = nullptr);

 private:
  // Names visible at a node: the scope's own and, in a subgraph, the enclosing ones.
  struct Scope {
    const Scope* outer = nullptr;
    int64_t opset = 0;
    const std::vector<AttributeMessage>* call = nullptr;  // attributes of the function's call
    std::unordered_map<std::string_view, ValueId> values;
  };

  Status Initializers(const GraphMessage& graph, Scope& scope);
  Status Inputs(Scope& scope);
  Status BindInput(const ValueMessage& input, const TensorDataRef& data, Scope& scope);
  Result<TensorType> TypeOfInput(const ValueMessage& input);
  Result<int64_t> SizeOfDim(const ValueMessage& input, size_t axis);
  Status CheckOptionsUsed() const;
  Status Outputs(const Scope& scope);

  Status Nodes(const std::vector<NodeMessage>& nodes, Scope& scope);
  Status Node(const NodeMessage& node, Scope& scope);
  Status Call(const NodeMessage& node, const FunctionMessage& function, Scope& scope);
  // Nodes with subgraphs, in control.cc.
  Status If(const NodeMessage& node, Scope& scope);
  Status Loop(const NodeMessage& node, Scope& scope);
  Status Scan(const NodeMessage& node, Scope& scope);
  Status SequenceMap(const NodeMessage& node, Scope& scope);
  Status CountIteration(const NodeMessage& node);
  // Lowers the subgraph of the attribute once; returns its outputs.
  Result<std::vector<ValueId>> Subgraph(const NodeMessage& node, std::string_view name,
                                        std::span<const ValueId> inputs, const Scope& scope);
  Status DefineResults(const NodeMessage& node, std::span<const ValueId> values, Scope& scope);
  Result<std::vector<ValueId>> Operands(const NodeMessage& node, const Scope& scope);
  Status Define(std::string_view name, ValueId value, Scope& scope);
  static const ValueId* Find(std::string_view name, const Scope& scope);
  static Result<TensorDataRef> ReadAttribute(void* importer, const TensorMessage& tensor);

  // For surveys, in survey.cc. The first two return the failure where there is none.
  Status NoteObstacle(ObstacleKind kind, std::string_view name, const Status& failure,
                      Scope& scope);
  Status NoteFailure(const NodeMessage& node, const Status& failure, Scope& scope);

  // A value that an obstacle makes unknown. Nodes that need it fail with kCancelled.
  static constexpr ValueId kUnknownValue = kNoValue - 1;

  const ModelMessage& model_;
  const FunctionTable& functions_;
  MappedFileRef file_;
  ExternalFiles& files_;
  const ImportOptions& options_;
  SurveyNotes* notes_;  // null: no survey
  Graph graph_;
  Builder builder_;
  DecodedWeights decoded_;
  CountedDims counted_;
  Sequences sequences_;
  int64_t iterations_ = 0;  // unrolled so far
  std::set<std::string, std::less<>> used_dims_;
  std::set<std::string, std::less<>> used_bindings_;
};

}  // namespace mlc::graph::onnx
