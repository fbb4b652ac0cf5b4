#include "compiler/front/ranged_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/front/same_constants.h"
#include "compiler/graph/onnx/folds.h"
#include "compiler/graph/ranged/prefix.h"

namespace mlc::front {

namespace {

bool SameNodes(const graph::Graph& a, const graph::Graph& b) {
  if (a.size() != b.size() || a.outputs() != b.outputs()) return false;
  for (graph::ValueId id = 0; id < a.size(); ++id) {
    if (a[id].op != b[id].op || a[id].operands != b[id].operands ||
        a[id].type.rank() != b[id].type.rank()) {
      return false;
    }
  }
  return true;
}

// Of a class with one size in a dimension, the forms of lengths do not show the dimension. Where
// those of the largest class give the same lengths, they are meant.
void ShareForms(const std::vector<RangedDim>& dims, RangedModel& ranged) {
  const std::vector<graph::SizeForm>& forms = ranged.forms.lengths;
  for (size_t c = 0; c + 1 < ranged.models.size(); ++c) {
    std::vector<Sizes> ends;
    for (const Sizes& list : ListsIn(dims, ranged.classes[c])) {
      ends.push_back(list.size() == 1 ? list : Sizes{list.front(), list.back()});
    }
    const std::vector<Sizes> corners = Combinations(ends);
    for (graph::MaskedNeed& masked : ranged.needs[c]) {
      const auto in_largest =
          std::ranges::find(ranged.needs.back(), masked.need, &graph::MaskedNeed::need);
      if (in_largest == ranged.needs.back().end()) continue;
      const graph::SizeForm& own = forms[static_cast<size_t>(masked.length)];
      const graph::SizeForm& all = forms[static_cast<size_t>(in_largest->length)];
      const bool same = std::ranges::all_of(
          corners, [&](const Sizes& sizes) { return own.At(sizes) == all.At(sizes); });
      if (same) masked.length = in_largest->length;
    }
  }
}

// A class that only its own sizes run in needs no masks. With those of the largest class it has the
// same nodes, so that both can share kernels; a mask of the whole length hides nothing.
void ShareNeeds(const std::vector<RangedDim>& dims, RangedModel& ranged) {
  const std::vector<graph::MaskedNeed>& all = ranged.needs.back();
  for (size_t c = 0; c + 1 < ranged.models.size(); ++c) {
    const graph::Graph& graph = ranged.models[c].graph;
    if (Combinations(ListsIn(dims, ranged.classes[c])).size() > 1 ||
        !SameNodes(graph, ranged.models.back().graph)) {
      continue;
    }
    const bool hide_nothing = std::ranges::all_of(all, [&](const graph::MaskedNeed& masked) {
      const auto length = static_cast<size_t>(masked.length);
      return ranged.forms.lengths[length].At(ranged.classes[c]) ==
             graph::LengthIn(graph, masked.need);
    });
    if (hide_nothing) ranged.needs[c] = all;
  }
}

// Before masks are added. `own`: the model at the sizes of the class themselves.
bool IsInLargest(const RangedModel& ranged, size_t at, const Model& own) {
  const Model& largest = ranged.models.back();
  const std::vector<graph::MaskedNeed>& masked = ranged.needs.back();
  if (!SameNodes(own.graph, largest.graph) || ranged.needs[at] != masked) return false;
  const Result<graph::Needs> needs =
      graph::ProvePrefix(own.graph, largest.graph, SameOfFiles(own, largest));
  if (!needs.ok()) return false;
  return std::ranges::all_of(*needs, [&](const auto& entry) {
    const auto found = std::ranges::find(masked, entry.first, &graph::MaskedNeed::need);
    if (found == masked.end()) return false;
    const auto length = static_cast<size_t>(found->length);
    return ranged.forms.lengths[length].At(ranged.classes[at]) == entry.second;
  });
}

Status FindInLargest(const ClassReader& reader, RangedModel& ranged) {
  for (size_t c = 0; c + 1 < ranged.models.size(); ++c) {
    const bool is_own = reader.PaddedSizes(ranged.classes[c]) == ranged.classes[c];
    Model read;
    if (!is_own) read = MLC_TRY(reader.Read(ranged.classes[c]));
    ranged.in_largest.push_back(IsInLargest(ranged, c, is_own ? ranged.models[c] : read));
  }
  ranged.in_largest.push_back(true);
  return {};
}

// Dimensions of inputs without a size: the sum that holds at the greatest and at small sizes.
Status FindSums(const std::string& path, const std::vector<RangedDim>& dims,
                graph::onnx::ImportOptions& import) {
  graph::onnx::ImportOptions most = import, few = import;
  for (const RangedDim& dim : dims) {
    most.dims[dim.name] = dim.sizes.back();
    few.dims[dim.name] = dim.sizes[dim.sizes.front() == 0 && dim.sizes.size() > 1 ? 1 : 0];
  }
  most.folds = few.folds = nullptr;
  const auto at_most = MLC_TRY(graph::onnx::FindDimSums(path, most));
  if (at_most.empty()) return {};
  const auto at_few = MLC_TRY(graph::onnx::FindDimSums(path, few));
  for (const auto& sum : at_most) {
    if (std::ranges::find(at_few, sum) == at_few.end()) continue;
    import.sums = sum;
    return {};
  }
  return {};
}

std::vector<Sizes> Lists(const std::vector<RangedDim>& dims, Sizes RangedDim::*list) {
  std::vector<Sizes> lists;
  for (const RangedDim& dim : dims) lists.push_back(dim.*list);
  return lists;
}

Result<RangedModel> ReadAll(const std::string& path, const graph::onnx::ImportOptions& import,
                            const std::vector<RangedDim>& dims) {
  RangedModel ranged;
  ranged.import = import;
  ClassReader reader(path, ranged.import, dims);
  ranged.classes = Combinations(Lists(dims, &RangedDim::classes));
  // What this one computes, all sizes compute.
  MLC_TRY(reader.Read(ranged.classes.back()).status());
  ranged.growth = MLC_TRY(FindGrowth(reader, dims));
  reader.set_growth(ranged.growth);
  PortLengths ports;
  for (const Sizes& classes : ranged.classes) {
    ranged.models.push_back(MLC_TRY(reader.Read(reader.PaddedSizes(classes))));
    ranged.needs.push_back(
        MLC_TRY(reader.Prove(ranged.models.back(), classes, ports, ranged.forms.lengths)));
  }
  MLC_TRY(ports.Fit(ranged.models.front().graph, ranged.forms));
  ShareForms(dims, ranged);
  ShareNeeds(dims, ranged);
  MLC_TRY(FindInLargest(reader, ranged));
  for (Model& model : ranged.models) model.takes_ranges = true;
  const auto count = static_cast<int64_t>(ranged.forms.lengths.size());
  for (size_t c = 0; count > 0 && c < ranged.models.size(); ++c) {
    MLC_TRY(graph::AddLengthMasks(ranged.models[c].graph, ranged.needs[c], count));
  }
  return ranged;
}

}  // namespace

Result<RangedModel> ReadRangedModel(const std::string& path,
                                    const graph::onnx::ImportOptions& import,
                                    const std::vector<RangedDim>& dims) {
  graph::onnx::ImportOptions own = import;
  MLC_TRY(FindSums(path, dims, own));
  own.folds = std::make_shared<graph::onnx::Folds>();
  Result<RangedModel> folded = ReadAll(path, own, dims);
  if (folded.ok() || folded.status().code() != StatusCode::kUnimplemented) return folded;
  // Positions that count from a length, and masks of them, are other constants at each size.
  own.folds = std::make_shared<graph::onnx::Folds>(true);
  Result<RangedModel> ranged = ReadAll(path, own, dims);
  return ranged.ok() ? std::move(ranged) : std::move(folded);
}

std::vector<Sizes> SmallerSizes(const std::vector<RangedDim>& dims, const RangedModel& ranged,
                                size_t class_at) {
  const Sizes& classes = ranged.classes[class_at];
  std::vector<Sizes> lists = ListsIn(dims, classes);
  // Rows are the same however long the caches are.
  if (ranged.growth) lists[ranged.growth->dim] = {classes[ranged.growth->dim]};
  for (Sizes& list : lists) {
    // Neighbours show what is rounded; the ends and the middle, what is not straight.
    std::set<size_t> places = {0, list.size() - 1};
    if (dims.size() < 3) places.insert({1, list.size() / 2});
    if (dims.size() == 1) places.insert({2, 3, list.size() / 2 + 1, list.size() - 2});
    Sizes few;
    for (const size_t place : places) {
      if (place < list.size()) few.push_back(list[place]);
    }
    list = std::move(few);
  }
  std::vector<Sizes> sizes = Combinations(lists);
  std::erase(sizes, classes);
  return sizes;
}

Result<Model> ReadSmaller(const std::string& path, const std::vector<RangedDim>& dims,
                          const RangedModel& ranged, size_t class_at, const Sizes& sizes) {
  ClassReader reader(path, ranged.import, dims);
  reader.set_growth(ranged.growth);
  Model model = MLC_TRY(reader.Read(reader.PaddedSizes(sizes)));
  model.takes_ranges = true;
  const auto count = static_cast<int64_t>(ranged.forms.lengths.size());
  if (count == 0) return model;
  MLC_TRY(graph::AddLengthMasks(model.graph, ranged.needs[class_at], count));
  return model;
}

}  // namespace mlc::front
