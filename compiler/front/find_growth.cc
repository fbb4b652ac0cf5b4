// How the caches of a model grow.
#include <algorithm>

#include "compiler/front/class_reader.h"
#include "compiler/graph/ranged/growing_cache.h"

namespace mlc::front {

namespace {

using graph::SizeForm;
using graph::ValueId;

// The length, along the axis of the join, of one of its operands in each of the models.
std::optional<SizeForm> FormOf(const std::vector<Sizes>& sizes, const std::vector<Model>& models,
                               ValueId join, size_t operand) {
  Sizes lengths;
  for (const Model& model : models) {
    const graph::Value& node = model.graph[join];
    const auto axis = static_cast<size_t>(node.Int("axis"));
    lengths.push_back(model.graph[node.operands[operand]].type.dims[axis]);
  }
  return graph::FitForm(sizes, lengths);
}

// Of one cache.
std::optional<Growth> GrowthOf(const std::vector<RangedDim>& dims, const std::vector<Sizes>& sizes,
                               const std::vector<Model>& models, ValueId join) {
  const std::optional<SizeForm> past = FormOf(sizes, models, join, 0);
  const std::optional<SizeForm> added = FormOf(sizes, models, join, 1);
  if (!past || !added || past->base != 0) return std::nullopt;
  const auto less = [](int64_t factor) { return factor < 0; };
  if (added->base < 0 || std::ranges::any_of(added->factors, less)) return std::nullopt;
  for (size_t d = 0; d < dims.size(); ++d) {
    Sizes its(dims.size(), 0);
    its[d] = 1;
    const bool is_range = dims[d].sizes.size() > dims[d].classes.size();
    if (past->factors != its || !is_range || added->factors[d] != 0) continue;
    return Growth{d, *added, sizes.front()[d] + added->At(sizes.front())};
  }
  return std::nullopt;
}

bool IsGrowingCacheInAll(const std::vector<Model>& models, ValueId id) {
  return std::ranges::all_of(models, [&](const Model& model) {
    return id < model.graph.size() && graph::IsGrowingCache(model.graph, id);
  });
}

}  // namespace

Result<std::optional<Growth>> FindGrowth(const ClassReader& reader,
                                         const std::vector<RangedDim>& dims) {
  // The greatest sizes, and those with one dimension a step smaller.
  std::vector<Sizes> sizes(1);
  for (const RangedDim& dim : dims) sizes.front().push_back(dim.sizes.back());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes.push_back(sizes.front());
    sizes.back()[d] = dims[d].sizes[dims[d].sizes.size() - 2];
  }
  std::vector<Model> models;
  for (const Sizes& at : sizes) models.push_back(MLC_TRY(reader.Read(at)));
  std::optional<Growth> growth;
  for (ValueId id = 0; id < models.front().graph.size(); ++id) {
    if (!IsGrowingCacheInAll(models, id)) continue;
    const std::optional<Growth> its = GrowthOf(dims, sizes, models, id);
    if (!its || (growth && *growth != *its)) return std::optional<Growth>();
    growth = its;
  }
  return growth;
}

}  // namespace mlc::front
