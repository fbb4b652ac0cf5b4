// A model whose dimensions take any size in a range: a graph for each combination of classes, which
// runs every size up to its own. Reading proves it, size by size (graph/ranged/prefix.h).
// Thread-safe (no shared state).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/front/front.h"
#include "compiler/graph/ranged/length_masks.h"
#include "compiler/graph/ranged/size_form.h"

namespace mlc::front {

// A symbolic dimension with several sizes.
struct RangedDim {
  std::string name;
  std::vector<int64_t> sizes;    // that runs may have, ascending
  std::vector<int64_t> classes;  // ascending; a size runs in the first class that is not smaller
};

struct RangedModel {
  std::vector<std::vector<int64_t>> classes;  // combinations, in ascending order
  std::vector<Model> models;                  // one a combination
  // What each of them was masked for.
  std::vector<std::vector<graph::MaskedNeed>> needs;
  // Whether the largest of them computes this one's results, too, and both have the same masks.
  std::vector<bool> in_largest;
  graph::RangeForms forms;
  std::shared_ptr<graph::onnx::Folds> folds;  // of all reads of the model
};

// `import` has the sizes of the other dimensions. UNIMPLEMENTED if the model cannot run padded: the
// message names the size, the node and the reason. INVALID_ARGUMENT for more sizes than are checked
// (4096 combinations). Else as ReadModel.
Result<RangedModel> ReadRangedModel(const std::string& path,
                                    const graph::onnx::ImportOptions& import,
                                    const std::vector<RangedDim>& dims);

// Sizes below those of a class that run in it, the least ones first: enough to tell lengths that
// are sums of multiples of the sizes from others (graph::FitForm). Empty: only its own run in it.
std::vector<std::vector<int64_t>> SmallerSizes(const std::vector<RangedDim>& dims,
                                               const std::vector<int64_t>& classes);
// The model at sizes that run in a class, with the masks of the class.
Result<Model> ReadSmaller(const std::string& path, const graph::onnx::ImportOptions& import,
                          const std::vector<RangedDim>& dims, const RangedModel& ranged,
                          size_t class_at, const std::vector<int64_t>& sizes);

}  // namespace mlc::front
