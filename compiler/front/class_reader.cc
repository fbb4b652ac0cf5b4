#include "compiler/front/class_reader.h"

#include <algorithm>

#include "compiler/front/same_constants.h"
#include "compiler/graph/ranged/prefix.h"

namespace mlc::front {

namespace {

using Ports = std::vector<std::vector<Sizes>>;

void AddPorts(const graph::Graph& graph, const std::vector<graph::ValueId>& ids, Ports& ports) {
  ports.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::vector<int64_t>& dims = graph[ids[i]].type.dims;
    ports[i].resize(dims.size());
    for (size_t a = 0; a < dims.size(); ++a) ports[i][a].push_back(dims[a]);
  }
}

template <typename NameOf>
Status FitPorts(const std::vector<Sizes>& sizes, const Ports& ports,
                std::vector<graph::RangeForms::Axes>& forms, const NameOf& name) {
  for (size_t i = 0; i < ports.size(); ++i) {
    graph::RangeForms::Axes& axes = forms.emplace_back();
    for (const Sizes& lengths : ports[i]) {
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

}  // namespace

void PortLengths::Add(const Sizes& sizes, const graph::Graph& graph) {
  sizes_.push_back(sizes);
  AddPorts(graph, graph.Inputs(), inputs_);
  AddPorts(graph, graph.outputs(), outputs_);
}

Status PortLengths::Fit(const graph::Graph& graph, graph::RangeForms& forms) const {
  MLC_TRY(FitPorts(sizes_, inputs_, forms.inputs,
                   [&](size_t i) { return "input '" + graph[graph.Inputs()[i]].name + "'"; }));
  return FitPorts(sizes_, outputs_, forms.outputs,
                  [&](size_t i) { return "output '" + graph.output_names()[i] + "'"; });
}

Result<Model> ClassReader::Read(const Sizes& sizes) const {
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

Sizes ClassReader::PaddedSizes(Sizes classes) const {
  if (growth_) classes[growth_->dim] = growth_->capacity - growth_->added.At(classes);
  return classes;
}

Result<std::vector<graph::MaskedNeed>> ClassReader::Prove(
    const Model& padded, const Sizes& classes, PortLengths& ports,
    std::vector<graph::SizeForm>& lengths) const {
  const std::vector<Sizes> sizes = CheckedIn(dims_, classes);
  const Sizes padded_sizes = PaddedSizes(classes);
  Found found;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == padded_sizes) {
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
      const Sizes whole(sizes.size(), graph::LengthIn(padded.graph, need));
      found.try_emplace(need, whole).first->second[i] = length;
    }
  }
  return MaskedNeeds(padded, classes, sizes, found, lengths);
}

Result<std::vector<graph::MaskedNeed>> ClassReader::MaskedNeeds(
    const Model& padded, const Sizes& classes, const std::vector<Sizes>& sizes, const Found& found,
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

Status ClassReader::Refused(const Status& status, const Sizes& sizes, const Sizes& classes) const {
  return Status(status.code(), TextOf(dims_, sizes) + " cannot run padded to " +
                                   TextOf(dims_, classes) + ": " + status.message() +
                                   ": give a list of sizes or a range with a step, as in " +
                                   dims_.front().name + "=64..512:64");
}

}  // namespace mlc::front
