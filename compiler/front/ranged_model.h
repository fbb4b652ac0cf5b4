// A model whose dimensions take any size in a range: a graph for each combination of classes, which
// runs every size up to its own. Reading proves it, size by size (graph/ranged/prefix.h).
// Thread-safe (no shared state).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/front/class_reader.h"
#include "compiler/front/front.h"
#include "compiler/front/ranged_sizes.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/size_form.h"

namespace mlc::front {

struct RangedModel {
  std::vector<Sizes> classes;  // combinations, in ascending order
  std::vector<Model> models;   // one a combination
  // What each of them was masked for.
  std::vector<std::vector<graph::MaskedNeed>> needs;
  // Whether the largest of them computes this one's results, too, and both have the same masks.
  std::vector<bool> in_largest;
  graph::RangeForms forms;
  std::optional<Growth> growth;
  graph::onnx::ImportOptions import;  // of all reads: with what was found of the dimensions
};

// `import` has the sizes of the other dimensions. UNIMPLEMENTED if the model cannot run padded: the
// message names the size, the node and the reason. Of more than 4096 combinations of sizes, about a
// thousand are checked: those near the ends of each class and near powers of two, and some between.
// Else as ReadModel.
Result<RangedModel> ReadRangedModel(const std::string& path,
                                    const graph::onnx::ImportOptions& import,
                                    const std::vector<RangedDim>& dims);

// Sizes below those of a class that run in it, the least ones first: enough to tell lengths that
// are sums of multiples of the sizes from others (graph::FitForm). Empty: only its own run in it.
std::vector<Sizes> SmallerSizes(const std::vector<RangedDim>& dims, const RangedModel& ranged,
                                size_t class_at);
// The model at sizes that run in a class, with the masks of the class.
Result<Model> ReadSmaller(const std::string& path, const std::vector<RangedDim>& dims,
                          const RangedModel& ranged, size_t class_at, const Sizes& sizes);

}  // namespace mlc::front
