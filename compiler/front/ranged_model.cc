#include "compiler/front/ranged_model.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/front/same_constants.h"
#include "compiler/graph/onnx/folds.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/prefix.h"

namespace mlc::front {

namespace {

using Sizes = std::vector<int64_t>;

constexpr size_t kMostChecked = 4096;

// All combinations of one number of each list, in ascending order.
std::vector<Sizes> Combinations(const std::vector<Sizes>& lists) {
  std::vector<Sizes> all = {{}};
  for (const Sizes& list : lists) {
    std::vector<Sizes> longer;
    for (const Sizes& before : all) {
      for (const int64_t size : list) {
        longer.push_back(before);
        longer.back().push_back(size);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string TextOf(const std::vector<RangedDim>& dims, const Sizes& sizes) {
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d) {
    text += (d == 0 ? "" : ", ") + dims[d].name + "=" + std::to_string(sizes[d]);
  }
  return text;
}

// By dimension: the sizes that run in a class.
std::vector<Sizes> ListsIn(const std::vector<RangedDim>& dims, const Sizes& classes) {
  std::vector<Sizes> lists;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Sizes& ends = dims[d].classes;
    const auto own = std::ranges::find(ends, classes[d]);
    const int64_t above = own == ends.begin() ? 0 : *(own - 1);
    Sizes& list = lists.emplace_back();
    for (const int64_t size : dims[d].sizes) {
      if (size > above && size <= classes[d]) list.push_back(size);
    }
  }
  return lists;
}

// Lengths of the axes of ports at every size.
class PortLengths {
 public:
  void Add(const Sizes& sizes, const graph::Graph& graph) {
    sizes_.push_back(sizes);
    AddPorts(graph, graph.Inputs(), inputs_);
    AddPorts(graph, graph.outputs(), outputs_);
  }

  Status Fit(const graph::Graph& graph, graph::RangeForms& forms) const {
    MLC_TRY(FitPorts(sizes_, inputs_, forms.inputs,
                     [&](size_t i) { return "input '" + graph[graph.Inputs()[i]].name + "'"; }));
    return FitPorts(sizes_, outputs_, forms.outputs,
                    [&](size_t i) { return "output '" + graph.output_names()[i] + "'"; });
  }

 private:
  using Ports = std::vector<std::vector<std::vector<int64_t>>>;  // by port, axis, size

  static void AddPorts(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                       Ports& ports) {
    ports.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::vector<int64_t>& dims = graph[ids[i]].type.dims;
      ports[i].resize(dims.size());
      for (size_t a = 0; a < dims.size(); ++a) ports[i][a].push_back(dims[a]);
    }
  }

  template <typename NameOf>
  static Status FitPorts(const std::vector<Sizes>& sizes, const Ports& ports,
                         std::vector<graph::RangeForms::Axes>& forms, const NameOf& name) {
    for (size_t i = 0; i < ports.size(); ++i) {
      graph::RangeForms::Axes& axes = forms.emplace_back();
      for (const std::vector<int64_t>& lengths : ports[i]) {
        const std::optional<graph::SizeForm> form = graph::FitForm(sizes, lengths);
        if (!form) {
          return Unimplemented("the shape of " + name(i) +
                               " is not a sum of multiples of the sizes: give a list of sizes, "
                               "not a range");
        }
        axes.push_back(*form);
      }
    }
    return {};
  }

  // The least ones first, as FitForm wants it.
  std::vector<Sizes> sizes_;
  Ports inputs_;
  Ports outputs_;
};

// A gather would read all of a concatenation once more, such as a cache.
Status JoinStatus(const graph::Value& node) {
  return Unimplemented("node '" + node.name +
                       "' (concat): an operand lies behind one whose length "
                       "varies along the axis");
}

// A combination of classes, and the sizes that run in it.
class ClassReader {
 public:
  ClassReader(const std::string& path, graph::onnx::ImportOptions import,
              const std::vector<RangedDim>& dims, std::shared_ptr<graph::onnx::Folds> folds)
      : path_(path), import_(std::move(import)), dims_(dims) {
    import_.folds = std::move(folds);
  }

  Result<Model> Read(const Sizes& sizes) const {
    graph::onnx::ImportOptions import = import_;
    for (size_t d = 0; d < dims_.size(); ++d) import.dims[dims_[d].name] = sizes[d];
    Result<Model> model = ReadModel(path_, import);
    if (!model.ok()) return model.status().WithPrefix("with " + TextOf(dims_, sizes));
    if (model->counted.count > 0) {
      return Unimplemented(
          "shapes that depend on data do not go with a range of sizes: give a list of sizes, as "
          "in " +
          dims_.front().name + "=1,8,32");
    }
    return model;
  }

  // Proves all sizes of the class, and adds its ports at each of them.
  Result<std::vector<graph::MaskedNeed>> Prove(const Model& padded, const Sizes& classes,
                                               PortLengths& ports,
                                               std::vector<graph::SizeForm>& lengths) const {
    const std::vector<Sizes> sizes = Combinations(ListsIn(dims_, classes));
    std::map<graph::Need, std::vector<int64_t>> found;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == classes) {
        ports.Add(sizes[i], padded.graph);
        continue;
      }
      // One at a time: a range has thousands.
      const Model exact = MLC_TRY(Read(sizes[i]));
      ports.Add(sizes[i], exact.graph);
      Result<graph::Needs> needs =
          graph::ProvePrefix(exact.graph, padded.graph, SameOfFiles(exact, padded));
      if (!needs.ok()) return Refused(needs.status(), sizes[i], classes);
      for (const auto& [need, length] : *needs) {
        if (need.kind == graph::Need::Kind::kJoin) {
          return Refused(JoinStatus(padded.graph[need.node]), sizes[i], classes);
        }
        const std::vector<int64_t> whole(sizes.size(), graph::LengthIn(padded.graph, need));
        found.try_emplace(need, whole).first->second[i] = length;
      }
    }
    return MaskedNeeds(padded, classes, sizes, found, lengths);
  }

 private:
  using Found = std::map<graph::Need, std::vector<int64_t>>;  // lengths by size

  Result<std::vector<graph::MaskedNeed>> MaskedNeeds(const Model& padded, const Sizes& classes,
                                                     const std::vector<Sizes>& sizes,
                                                     const Found& found,
                                                     std::vector<graph::SizeForm>& lengths) const {
    std::vector<graph::MaskedNeed> masked;
    for (const auto& [need, by_size] : found) {
      const std::optional<graph::SizeForm> form = graph::FitForm(sizes, by_size);
      if (!form) {
        return Refused(Unimplemented("node '" + padded.graph[need.node].name +
                                     "': a length in it is not a sum of multiples of the sizes"),
                       sizes.front(), classes);
      }
      auto place = std::ranges::find(lengths, *form);
      if (place == lengths.end()) place = lengths.insert(place, *form);
      masked.push_back({need, static_cast<int>(place - lengths.begin())});
    }
    return masked;
  }

  Status Refused(const Status& status, const Sizes& sizes, const Sizes& classes) const {
    return Status(status.code(), TextOf(dims_, sizes) + " cannot run padded to " +
                                     TextOf(dims_, classes) + ": " + status.message() +
                                     ": give a list of sizes or a range with a step, as in " +
                                     dims_.front().name + "=64..512:64");
  }

  const std::string& path_;
  graph::onnx::ImportOptions import_;
  const std::vector<RangedDim>& dims_;
};

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

// A class that only its own sizes run in needs no masks. With those of the largest class it has the
// same nodes, so that both can share kernels; a mask of the whole length hides nothing.
void ShareNeeds(const std::vector<RangedDim>& dims, RangedModel& ranged) {
  const std::vector<graph::MaskedNeed>& all = ranged.needs.back();
  for (size_t c = 0; c + 1 < ranged.models.size(); ++c) {
    const graph::Graph& graph = ranged.models[c].graph;
    if (!SmallerSizes(dims, ranged.classes[c]).empty() ||
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

// Before masks are added.
bool IsInLargest(const RangedModel& ranged, size_t at) {
  const Model &model = ranged.models[at], &largest = ranged.models.back();
  const std::vector<graph::MaskedNeed>& masked = ranged.needs.back();
  if (!SameNodes(model.graph, largest.graph) || ranged.needs[at] != masked) return false;
  const Result<graph::Needs> needs =
      graph::ProvePrefix(model.graph, largest.graph, SameOfFiles(model, largest));
  if (!needs.ok()) return false;
  return std::ranges::all_of(*needs, [&](const auto& entry) {
    const auto found = std::ranges::find(masked, entry.first, &graph::MaskedNeed::need);
    if (found == masked.end()) return false;
    const auto length = static_cast<size_t>(found->length);
    return ranged.forms.lengths[length].At(ranged.classes[at]) == entry.second;
  });
}

std::vector<Sizes> Lists(const std::vector<RangedDim>& dims, Sizes RangedDim::*list) {
  std::vector<Sizes> lists;
  for (const RangedDim& dim : dims) lists.push_back(dim.*list);
  return lists;
}

Status CheckCount(const std::vector<RangedDim>& dims) {
  size_t count = 1;
  for (const RangedDim& dim : dims) {
    count *= dim.sizes.size();
    if (count > kMostChecked) {
      return InvalidArgument(
          "the ranges of --dim have more than " + std::to_string(kMostChecked) +
          " combinations of sizes, each of which is checked: give narrower ranges");
    }
  }
  return {};
}

}  // namespace

Result<RangedModel> ReadRangedModel(const std::string& path,
                                    const graph::onnx::ImportOptions& import,
                                    const std::vector<RangedDim>& dims) {
  MLC_TRY(CheckCount(dims));
  RangedModel ranged;
  ranged.folds = std::make_shared<graph::onnx::Folds>();
  const ClassReader reader(path, import, dims, ranged.folds);
  ranged.classes = Combinations(Lists(dims, &RangedDim::classes));
  // What this one computes, all sizes compute.
  MLC_TRY(reader.Read(ranged.classes.back()).status());
  PortLengths ports;
  for (const Sizes& classes : ranged.classes) {
    ranged.models.push_back(MLC_TRY(reader.Read(classes)));
    ranged.needs.push_back(
        MLC_TRY(reader.Prove(ranged.models.back(), classes, ports, ranged.forms.lengths)));
  }
  MLC_TRY(ports.Fit(ranged.models.front().graph, ranged.forms));
  ShareNeeds(dims, ranged);
  for (size_t c = 0; c + 1 < ranged.models.size(); ++c) {
    ranged.in_largest.push_back(IsInLargest(ranged, c));
  }
  ranged.in_largest.push_back(true);
  for (Model& model : ranged.models) model.takes_ranges = true;
  const auto count = static_cast<int64_t>(ranged.forms.lengths.size());
  for (size_t c = 0; count > 0 && c < ranged.models.size(); ++c) {
    MLC_TRY(graph::AddLengthMasks(ranged.models[c].graph, ranged.needs[c], count));
  }
  return ranged;
}

std::vector<Sizes> SmallerSizes(const std::vector<RangedDim>& dims, const Sizes& classes) {
  std::vector<Sizes> lists = ListsIn(dims, classes);
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

Result<Model> ReadSmaller(const std::string& path, const graph::onnx::ImportOptions& import,
                          const std::vector<RangedDim>& dims, const RangedModel& ranged,
                          size_t class_at, const Sizes& sizes) {
  Model model = MLC_TRY(ClassReader(path, import, dims, ranged.folds).Read(sizes));
  model.takes_ranges = true;
  const auto count = static_cast<int64_t>(ranged.forms.lengths.size());
  if (count == 0) return model;
  MLC_TRY(graph::AddLengthMasks(model.graph, ranged.needs[class_at], count));
  return model;
}

}  // namespace mlc::front
