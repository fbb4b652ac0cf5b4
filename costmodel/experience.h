// Experience: what measurements of one family taught, as rows of features with the logarithm of
// measured over estimated time. Rows of different workloads, jobs and shapes stand side by side, so
// that what one task learns serves all. It is what the log keeps between jobs: models are fitted
// from it in a moment, and rows, unlike models, can be merged. A value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "costmodel/boosting.h"

namespace mlc::costmodel {

class Experience {
 public:
  // Keeps the latest rows beyond this many.
  static constexpr size_t kMaxRows = 3000;

  explicit Experience(size_t columns) : columns_(columns) {}

  // `label`: log(measured / estimated). REQUIRES: features.size() == columns.
  void Add(std::span<const float> features, float label, float weight);
  void Append(const Experience& other);
  // Scales the weights of all rows: older knowledge counts less.
  void Discount(float factor);
  size_t size() const { return labels_.size(); }
  size_t columns() const { return columns_; }
  Result<Forest> Fit(const BoostingOptions& options) const;

  // Little-endian, versioned. DATA_LOSS for bytes that are damaged or have other columns.
  std::string ToBytes() const;
  static Result<Experience> FromBytes(std::string_view bytes, size_t columns);

 private:
  void Trim();

  size_t columns_;
  std::vector<float> features_;
  std::vector<float> labels_;
  std::vector<float> weights_;
};

}  // namespace mlc::costmodel
