#include "client/model/sized_model.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlc::client {

Result<SizedModel> SizedModel::Open(const std::string& path, const DimSizes& sizes,
                                    const Constants& constants) {
  SizedModel model(path, sizes, constants);
  if (!sizes.ranged()) return model;
  graph::onnx::ImportOptions import;
  import.bound_inputs = constants;
  for (size_t d = 0; d < sizes.varying.size(); ++d) {
    model.dims_.push_back({sizes.varying[d], sizes.dims[d].sizes, sizes.dims[d].classes});
  }
  for (const auto& [name, size] : sizes.combinations.front()) {
    if (std::ranges::find(sizes.varying, name) == sizes.varying.end()) {
      import.dims[name] = size;
    }
  }
  model.ranged_ = MLC_TRY(front::ReadRangedModel(path, import, model.dims_));
  return model;
}

Result<front::Model> SizedModel::Take(size_t at) {
  if (ranged_) return std::move(ranged_->models[at]);
  graph::onnx::ImportOptions import;
  import.dims = sizes_.combinations[at];
  import.bound_inputs = constants_;
  return front::ReadModel(path_, import);
}

std::vector<std::vector<int64_t>> SizedModel::SmallerSizes(size_t at) const {
  if (!ranged_) return {};
  return front::SmallerSizes(dims_, *ranged_, at);
}

Result<front::Model> SizedModel::TakeSmaller(size_t at, const std::vector<int64_t>& smaller) const {
  return front::ReadSmaller(path_, dims_, *ranged_, at, smaller);
}

}  // namespace mlc::client
