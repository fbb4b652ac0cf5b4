#include "compiler/graph/onnx/survey_notes.h"

#include <algorithm>
#include <utility>

#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

// A hostile model has obstacles without end: the first of them are enough.
constexpr size_t kMostObstacles = 10'000;
constexpr size_t kMostNames = 1000;

}  // namespace

SurveyNotes::SurveyNotes(const ModelMessage& model, const ImportOptions& options)
    : options_(options) {
  for (const auto* values : {&model.graph.values, &model.graph.outputs}) {
    for (const ValueMessage& value : *values) declared_.emplace(value.name, &value);
  }
}

void SurveyNotes::Add(Obstacle obstacle, std::string_view name) {
  const std::string key =
      ToText(obstacle.kind) + "\n" + obstacle.what + "\n" + obstacle.why + "\n" + obstacle.instead;
  const auto known = places_.find(key);
  if (known == places_.end() && obstacles_.size() == kMostObstacles) return CountUnchecked();
  const size_t place = known == places_.end() ? obstacles_.size() : known->second;
  if (known == places_.end()) {
    places_.emplace(key, place);
    obstacles_.push_back(std::move(obstacle));
  }
  Obstacle& noted = obstacles_[place];
  ++noted.count;
  const std::string printable = Printable(name);
  // A function that is called often, or a loop, comes by its nodes often.
  if (!noted.names.empty() && noted.names.back() == printable) return;
  if (!printable.empty() && noted.names.size() < kMostNames) noted.names.push_back(printable);
}

void SurveyNotes::AddSize(std::string_view input, const std::string& dim) {
  ++sizes_;
  assumed_dims_.insert(dim);
  Add({ObstacleKind::kInput,
       "input",
       {},
       0,
       "its dimension " + Quote(dim) + " has no known size",
       "give the size with --dim " + Printable(dim) + "=<size>"},
      input);
}

bool SurveyNotes::IsAnyAssumed(std::span<const ValueId> values) const {
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return assumed_.contains(value); });
}

std::optional<TensorType> SurveyNotes::DeclaredType(std::string_view name) const {
  const auto found = declared_.find(name);
  if (found == declared_.end()) return std::nullopt;
  const ValueMessage& declared = *found->second;
  const Result<DType> dtype = DTypeOf(declared.elem_type);
  if (!declared.is_tensor || !declared.has_shape || !dtype.ok()) return std::nullopt;
  TensorType type;
  type.dtype = *dtype;
  for (const DimMessage& dim : declared.dims) {
    const std::string param(dim.param);
    const auto bound = options_.dims.find(param);
    const bool is_bound = bound != options_.dims.end();
    if (!dim.has_value && !is_bound && !assumed_dims_.contains(param)) return std::nullopt;
    type.dims.push_back(dim.has_value ? dim.value : is_bound ? bound->second : 1);
  }
  if (!CheckedElements(type.dims, type.dtype, "value").ok()) return std::nullopt;
  return type;
}

std::vector<Obstacle> SurveyNotes::Take() {
  std::stable_sort(obstacles_.begin(), obstacles_.end(),
                   [](const Obstacle& a, const Obstacle& b) { return a.kind < b.kind; });
  places_.clear();
  return std::exchange(obstacles_, {});
}

}  // namespace mlc::graph::onnx
