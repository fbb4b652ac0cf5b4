// A model at each combination of sizes that a command is about. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/model/constants.h"
#include "client/model/dims.h"
#include "compiler/front/front.h"
#include "compiler/front/ranged_model.h"

namespace mlc::client {

class SizedModel {
 public:
  // With a range, reads the model at all sizes, and errors are those of front::ReadRangedModel.
  static Result<SizedModel> Open(const std::string& path, const DimSizes& sizes,
                                 const Constants& constants = {});

  // The model at sizes.combinations[at], which then is not kept: once for each. Errors as
  // front::ReadModel's.
  Result<front::Model> Take(size_t at);
  // Sizes below those of a class, and the model at them with the class's masks; for several, as
  // front::SmallerSizes says. Empty without a range.
  std::vector<std::vector<int64_t>> SmallerSizes(size_t at) const;
  Result<front::Model> TakeSmaller(size_t at, const std::vector<int64_t>& smaller) const;
  // Whether the model at the largest sizes computes what it computes at those of the combination,
  // with the same masks. False without a range.
  bool IsInLargest(size_t at) const { return ranged_ && ranged_->in_largest[at]; }
  // Null: there is no range.
  const graph::RangeForms* forms() const { return ranged_ ? &ranged_->forms : nullptr; }

 private:
  SizedModel(std::string path, DimSizes sizes, Constants constants)
      : path_(std::move(path)), sizes_(std::move(sizes)), constants_(std::move(constants)) {}

  std::string path_;
  DimSizes sizes_;
  std::vector<front::RangedDim> dims_;  // with a range: the dimensions that vary
  Constants constants_;
  std::optional<front::RangedModel> ranged_;
};

}  // namespace mlc::client
