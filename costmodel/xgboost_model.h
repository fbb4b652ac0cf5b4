// Gradient-boosted trees over feature rows: small, quick to fit, deterministic. One thread: on a
// machine that also times kernels a second one costs more than it gives. A move-only value; const
// calls are not thread-safe either, the library below keeps caches.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "compiler/base/status.h"

namespace mlc::costmodel {

struct TrainingRows {
  size_t columns = 0;
  std::span<const float> features;  // row-major
  std::span<const float> labels;    // one per row
  std::span<const float> weights;   // one per row, or empty
};

struct BoostingOptions {
  int trees = 80;
  int depth = 5;
  double eta = 0.15;
  double min_child_weight = 1;
  double lambda = 1;
};

class XgboostModel {
 public:
  // Squared error, starting from 0: far from all rows the model says 0. INVALID_ARGUMENT if sizes
  // disagree or there is no row.
  static Result<XgboostModel> Fit(const TrainingRows& rows, const BoostingOptions& options = {});
  // The bytes of ToBytes, of this library version. DATA_LOSS if they are none.
  static Result<XgboostModel> FromBytes(std::string_view bytes);
  XgboostModel(XgboostModel&&) noexcept;
  XgboostModel& operator=(XgboostModel&&) noexcept;
  ~XgboostModel();

  // One value per row. REQUIRES: features.size() == columns * out.size().
  Status Predict(std::span<const float> features, size_t columns, std::span<float> out) const;
  Result<std::string> ToBytes() const;

 private:
  struct Handle;
  explicit XgboostModel(std::unique_ptr<Handle> handle);

  std::unique_ptr<Handle> handle_;
};

}  // namespace mlc::costmodel
