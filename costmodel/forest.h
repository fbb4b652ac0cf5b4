// Regression trees with a fast prediction: a search predicts far more often than it fits, and
// XGBoost takes five times as long to predict. All trees are filled up to one depth, so that the
// walk has no branches and several rows walk at the same time. A value; const calls are
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::costmodel {

class Forest {
 public:
  // Each text is one tree as XGBoost dumps it, with lines like these:
  //   0:[f12<0.5] yes=1,no=2,missing=1
  //   1:leaf=0.25
  // INVALID_ARGUMENT for anything else, for features at or beyond `columns`, and for trees deeper
  // than 12.
  static Result<Forest> Parse(std::span<const char* const> trees, size_t columns);

  // The sum of the predictions of all trees, one value per row. Adds in single precision and in the
  // order of the trees, as XGBoost does. NaN takes the branch of large values. REQUIRES:
  // features.size() == columns * out.size().
  void Predict(std::span<const float> features, std::span<float> out) const;

  size_t columns() const { return columns_; }
  friend bool operator==(const Forest&, const Forest&) = default;

 private:
  struct Split {
    float below = 0;  // left if the feature is
    uint32_t feature = 0;
    friend bool operator==(const Split&, const Split&) = default;
  };

  size_t columns_ = 0;
  size_t trees_ = 0;
  uint32_t depth_ = 0;         // of all trees
  std::vector<Split> splits_;  // 2^depth - 1 for each tree; node i has children 2i+1 and 2i+2
  std::vector<float> leaves_;  // 2^depth for each tree
};

}  // namespace mlc::costmodel
