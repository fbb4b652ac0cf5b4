// Surveys a model: the operators that it needs, and everything in it that cannot be lowered. Unlike
// ImportOnnx, a survey continues after an obstacle with all nodes that do not depend on it.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/onnx/import.h"

namespace mlc::graph::onnx {

enum class ObstacleKind : uint8_t { kModel, kInput, kConstant, kOperator, kNode };

// One reason why the model cannot be lowered, and where. All texts are fit for printing.
struct Obstacle {
  ObstacleKind kind = ObstacleKind::kModel;
  std::string what;                // "operator set 30", "com.microsoft:MatMulBnb4", "Cast"
  std::vector<std::string> names;  // the first thousand nodes, inputs or constants
  int64_t count = 0;               // number of all of them
  std::string why;
  std::string instead;  // the nearest form that is supported; empty if none is known
};

struct ModelSurvey {
  int64_t opset = 0;
  std::map<std::string, int64_t> operators;  // nodes of each, once in each function
  std::vector<Obstacle> obstacles;           // by kind, then in the order of the model
  // Nodes that could not be checked, because they need a value that an obstacle makes unknown and
  // whose type the file does not declare. If there are obstacles, more may appear when these are
  // removed.
  int64_t unchecked = 0;
};

// Errors of ImportOnnx that are not obstacles: a broken or hostile file, wrong options, no file.
Result<ModelSurvey> SurveyOnnx(const std::string& path, const ImportOptions& options);

// The words for a kind: "model", "input", "constant", "operator", "node".
std::string ToText(ObstacleKind kind);

}  // namespace mlc::graph::onnx
