// The training rows of one family: features with the logarithm of measured over estimated time.
// Rows of different workloads, jobs and shapes are stored together, so that each task learns from
// all. The log stores the rows between jobs instead of models, because fitting is fast and only
// rows can be merged. A value; not thread-safe.
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
  // Multiplies the weights of all rows, so that older knowledge counts less.
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
