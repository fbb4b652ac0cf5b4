#include "client/model/sized_model.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlc::client {

Result<SizedModel> SizedModel::Open(const std::string& path, const DimSizes& sizes) {
  SizedModel model(path, sizes);
  if (!sizes.ranged()) return model;
  graph::onnx::ImportOptions import;
  std::vector<front::RangedDim> dims;
  for (size_t d = 0; d < sizes.varying.size(); ++d) {
    dims.push_back({sizes.varying[d], sizes.dims[d].sizes, sizes.dims[d].classes});
  }
  for (const auto& [name, size] : sizes.combinations.front()) {
    if (std::ranges::find(sizes.varying, name) == sizes.varying.end()) import.dims[name] = size;
  }
  model.ranged_ = MLC_TRY(front::ReadRangedModel(path, import, dims));
  return model;
}

Result<front::Model> SizedModel::Take(size_t at) {
  if (ranged_) return std::move(ranged_->models[at]);
  graph::onnx::ImportOptions import;
  import.dims = sizes_.combinations[at];
  return front::ReadModel(path_, import);
}

}  // namespace mlc::client
