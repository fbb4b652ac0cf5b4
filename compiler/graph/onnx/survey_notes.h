// The notes of an importer during a survey. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/onnx/import.h"
#include "compiler/graph/onnx/model.h"
#include "compiler/graph/onnx/survey.h"

namespace mlc::graph::onnx {

class SurveyNotes {
 public:
  // Both outlive the notes.
  SurveyNotes(const ModelMessage& model, const ImportOptions& options);

  // Adds an obstacle at the node, input or constant `name`. Obstacles with equal texts are counted
  // together.
  void Add(Obstacle obstacle, std::string_view name);
  void CountUnchecked() { ++unchecked_; }

  // Adds an input dimension whose size is not given, and is assumed to be 1.
  void AddSize(std::string_view input, const std::string& dim);
  int64_t sizes() const { return sizes_; }

  // Marks a value whose size or type is assumed, or that depends on such a value.
  void Assume(ValueId value) { assumed_.insert(value); }
  bool IsAnyAssumed(std::span<const ValueId> values) const;
  // The type that the file declares for a value, if it is usable.
  std::optional<TensorType> DeclaredType(std::string_view name) const;

  int64_t unchecked() const { return unchecked_; }
  // The obstacles, by kind, then in the order of their addition.
  std::vector<Obstacle> Take();

 private:
  const ImportOptions& options_;
  std::map<std::string_view, const ValueMessage*> declared_;  // what the model says of its values
  std::set<ValueId> assumed_;
  std::set<std::string, std::less<>> assumed_dims_;
  int64_t sizes_ = 0;
  std::vector<Obstacle> obstacles_;
  std::map<std::string, size_t> places_;  // by kind and words
  int64_t unchecked_ = 0;
};

}  // namespace mlc::graph::onnx
