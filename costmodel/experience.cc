#include "costmodel/experience.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace mlc::costmodel {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte form is little-endian");

constexpr char kMagic[8] = {'m', 'l', 'c', 'r', 'o', 'w', 's', '1'};

struct Header {
  char magic[8];
  uint64_t rows;
  uint64_t columns;
};

void Write(std::string& bytes, const std::vector<float>& values) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// False if a value is not finite.
bool Read(std::string_view& bytes, size_t count, std::vector<float>& values) {
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), count * sizeof(float));
  bytes.remove_prefix(count * sizeof(float));
  for (float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

void Experience::Add(std::span<const float> features, float label, float weight) {
  MLC_CHECK(features.size() == columns_) << "a row of another table";
  features_.insert(features_.end(), features.begin(), features.end());
  labels_.push_back(label);
  weights_.push_back(weight);
  if (labels_.size() >= 2 * kMaxRows) Trim();
}

void Experience::Append(const Experience& other) {
  MLC_CHECK(other.columns_ == columns_) << "rows of another table";
  features_.insert(features_.end(), other.features_.begin(), other.features_.end());
  labels_.insert(labels_.end(), other.labels_.begin(), other.labels_.end());
  weights_.insert(weights_.end(), other.weights_.begin(), other.weights_.end());
  Trim();
}

void Experience::Discount(float factor) {
  for (float& weight : weights_) weight *= factor;
}

void Experience::Trim() {
  if (labels_.size() <= kMaxRows) return;
  const size_t drop = labels_.size() - kMaxRows;
  const auto cut = [](std::vector<float>& values, size_t count) {
    values.erase(values.begin(), values.begin() + static_cast<int64_t>(count));
  };
  cut(features_, drop * columns_);
  cut(labels_, drop);
  cut(weights_, drop);
}

Result<Forest> Experience::Fit(const BoostingOptions& options) const {
  return FitForest({columns_, features_, labels_, weights_}, options);
}

std::string Experience::ToBytes() const {
  Header header{{}, labels_.size(), columns_};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  Write(bytes, features_);
  Write(bytes, labels_);
  Write(bytes, weights_);
  return bytes;
}

Result<Experience> Experience::FromBytes(std::string_view bytes, size_t columns) {
  Header header{};
  if (bytes.size() < sizeof(header)) return DataLoss("saved rows: too short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes.remove_prefix(sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
    return DataLoss("saved rows: not of this form");
  }
  if (header.columns != columns) return DataLoss("saved rows: of another feature table");
  if (header.rows > kMaxRows * 2 || bytes.size() != header.rows * (columns + 2) * sizeof(float)) {
    return DataLoss("saved rows: damaged");
  }
  Experience rows(columns);
  const bool finite = Read(bytes, header.rows * columns, rows.features_) &&
                      Read(bytes, header.rows, rows.labels_) &&
                      Read(bytes, header.rows, rows.weights_);
  if (!finite) return DataLoss("saved rows: damaged");
  return rows;
}

}  // namespace mlc::costmodel
