// Reads one model at many sizes, and proves that the graph of a class runs all sizes of the class.
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/front/front.h"
#include "compiler/front/ranged_sizes.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/needs.h"
#include "compiler/graph/ranged/size_form.h"

namespace mlc::front {

// Caches that grow: inputs as long as a dimension, to whose end each run joins what is new. The
// graphs of all classes have room for the longest result, and a run writes what is new behind what
// there is (graph::AddLengthMasks).
struct Growth {
  size_t dim = 0;         // the length of the caches before a run
  graph::SizeForm added;  // what a run joins to them
  int64_t capacity = 0;   // of the longest result

  friend bool operator==(const Growth&, const Growth&) = default;
};

// Lengths of the axes of ports at every size.
class PortLengths {
 public:
  // The least sizes first.
  void Add(const Sizes& sizes, const graph::Graph& graph);
  // Adds the forms of inputs and outputs. UNIMPLEMENTED if a length has none; `graph` names it.
  Status Fit(const graph::Graph& graph, graph::RangeForms& forms) const;

 private:
  using Ports = std::vector<std::vector<Sizes>>;  // by port, axis, size

  std::vector<Sizes> sizes_;
  Ports inputs_;
  Ports outputs_;
};

class ClassReader {
 public:
  // Borrows path and dimensions. `import`: with the sizes of the other dimensions.
  ClassReader(const std::string& path, graph::onnx::ImportOptions import,
              const std::vector<RangedDim>& dims)
      : path_(path), import_(std::move(import)), dims_(dims) {}

  Result<Model> Read(const Sizes& sizes) const;
  void set_growth(std::optional<Growth> growth) { growth_ = std::move(growth); }
  // The sizes that the graph of a class is read at, so that all classes have caches of one
  // capacity.
  Sizes PaddedSizes(Sizes classes) const;
  // Proves the sizes of the class, and adds its ports at each of them.
  Result<std::vector<graph::MaskedNeed>> Prove(const Model& padded, const Sizes& classes,
                                               PortLengths& ports,
                                               std::vector<graph::SizeForm>& lengths) const;

 private:
  using Found = std::map<graph::Need, Sizes>;  // lengths by size

  Result<std::vector<graph::MaskedNeed>> MaskedNeeds(const Model& padded, const Sizes& classes,
                                                     const std::vector<Sizes>& sizes,
                                                     const Found& found,
                                                     std::vector<graph::SizeForm>& lengths) const;
  Status Refused(const Status& status, const Sizes& sizes, const Sizes& classes) const;

  const std::string& path_;
  graph::onnx::ImportOptions import_;
  const std::vector<RangedDim>& dims_;
  std::optional<Growth> growth_;
};

// How the caches of the model grow; none: it has no such caches, or they differ. Errors as the
// reader's.
Result<std::optional<Growth>> FindGrowth(const ClassReader& reader,
                                         const std::vector<RangedDim>& dims);

}  // namespace mlc::front
