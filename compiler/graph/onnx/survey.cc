#include "compiler/graph/onnx/survey.h"

#include <iterator>
#include <optional>
#include <utility>

#include "compiler/graph/onnx/dim_sums.h"
#include "compiler/graph/onnx/file.h"
#include "compiler/graph/onnx/importer.h"
#include "compiler/graph/onnx/parse.h"
#include "compiler/graph/onnx/preflight.h"
#include "compiler/graph/onnx/supported_forms.h"
#include "compiler/graph/onnx/survey_notes.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr size_t kListedNodes = 1000;

// What a node's error says besides the node's own name.
std::string WithoutPrefix(const std::string& message, const std::string& prefix) {
  if (message.rfind(prefix, 0) != 0) return message;
  const size_t start = message.find_first_not_of(": ", prefix.size());
  return start == std::string::npos ? message : message.substr(start);
}

std::string_view NameOf(const NodeMessage& node) {
  return !node.name.empty() || node.outputs.empty() ? node.name : node.outputs[0];
}

// The model's, or the newest one if it is too new: most operators stay what they are.
Result<int64_t> OpsetOf(const ModelMessage& model, SurveyNotes& notes) {
  const Result<int64_t> opset = DefaultOpset(model.opsets, "the model");
  if (opset.ok() || opset.status().code() != StatusCode::kUnimplemented) return opset;
  notes.Add({ObstacleKind::kModel,
             "operator set",
             {},
             0,
             opset.status().message(),
             "operator sets " + std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset)},
            "");
  return kMaxOpset;
}

Obstacle OfOperator(const UnsupportedOperator& unsupported) {
  return {ObstacleKind::kOperator,
          unsupported.name,
          unsupported.nodes,
          unsupported.count,
          "the operator is not supported",
          InsteadOf(unsupported.domain, unsupported.op_type)};
}

}  // namespace

std::string ToText(ObstacleKind kind) {
  constexpr const char* kWords[] = {"model", "input", "constant", "operator", "node"};
  return kWords[static_cast<size_t>(kind)];
}

Result<ModelSurvey> SurveyOnnx(const std::string& path, const ImportOptions& options) {
  const MappedFileRef file = MLC_TRY(OpenModelFile(path));
  ParseLimits limits;
  limits.value_info = true;
  const ModelMessage model = MLC_TRY(ParseModel(file->bytes(), limits));
  Preflight preflight = MLC_TRY(CheckModel(model, options.max_nodes, kListedNodes));
  SurveyNotes notes(model, options);
  ModelSurvey survey;
  survey.opset = MLC_TRY(OpsetOf(model, notes));
  ExternalFiles external(path);
  ImportOptions with_sums = options;
  if (options.sums.empty() && preflight.unsupported.empty()) {
    const auto sums = FindSums(model, preflight.functions, file, external, options);
    if (!sums.empty()) with_sums.sums = sums.front();
  }
  MLC_TRY(Importer(model, preflight.functions, file, external, with_sums, &notes).Run());
  survey.operators = std::move(preflight.operators);
  survey.unchecked = notes.unchecked();
  std::vector<Obstacle> noted = notes.Take();
  auto at = noted.begin();
  for (; at != noted.end() && at->kind < ObstacleKind::kOperator; ++at) {
    survey.obstacles.push_back(std::move(*at));
  }
  for (const UnsupportedOperator& unsupported : preflight.unsupported) {
    survey.obstacles.push_back(OfOperator(unsupported));
  }
  survey.obstacles.insert(survey.obstacles.end(), std::make_move_iterator(at),
                          std::make_move_iterator(noted.end()));
  return survey;
}

// What the importer cannot take of a file that is not broken.
Status Importer::NoteObstacle(ObstacleKind kind, std::string_view name, const Status& failure,
                              Scope& scope) {
  const bool is_obstacle = failure.code() == StatusCode::kUnimplemented;
  if (notes_ == nullptr || !is_obstacle) return failure;
  const std::string what = ToText(kind) + " " + Quote(name);
  notes_->Add({kind, ToText(kind), {}, 0, WithoutPrefix(failure.message(), what), SupportedTypes()},
              name);
  scope.values.emplace(name, kUnknownValue);
  return Status();
}

// Whatever fails at values that were assumed may fail because of them, unless the importer says
// that it has no such thing.
Status Importer::NoteFailure(const NodeMessage& node, const Status& failure, Scope& scope) {
  const bool lacks_constant = failure.code() == StatusCode::kFailedPrecondition;
  if (notes_ == nullptr && lacks_constant) return Unimplemented(failure.message());
  if (notes_ == nullptr || graph_.size() > options_.max_values) return failure;
  const OpRow* const row = FindOperator(node.domain, node.op_type);
  // CheckModel has listed it.
  const bool is_listed = !IsSupported(node) && functions_.find(KeyOf(node)) == functions_.end();
  const Result<std::vector<ValueId>> operands = Operands(node, scope);
  const bool is_assumed = operands.ok() && notes_->IsAnyAssumed(*operands);
  if (failure.code() == StatusCode::kCancelled ||
      (!is_listed && is_assumed && failure.code() != StatusCode::kUnimplemented)) {
    notes_->CountUnchecked();
  } else if (!is_listed) {
    const std::string instead = lacks_constant   ? InsteadOfInputs()
                                : row == nullptr ? std::string()
                                                 : SupportedForm(*row);
    notes_->Add({ObstacleKind::kNode,
                 Printable(node.op_type),
                 {},
                 0,
                 WithoutPrefix(failure.message(), Describe(node)),
                 instead},
                NameOf(node));
  }
  builder_ = Builder(graph_, options_.folds.get());
  const bool is_of_model = scope.outer == nullptr && scope.call == nullptr;
  for (const std::string_view output : node.outputs) {
    if (output.empty()) continue;
    const std::optional<TensorType> type =
        is_of_model ? notes_->DeclaredType(output) : std::nullopt;
    const ValueId value = type ? graph_.Input(*type, std::string(output)) : kUnknownValue;
    if (type) notes_->Assume(value);
    scope.values.emplace(output, value);
  }
  return Status();
}

}  // namespace mlc::graph::onnx
