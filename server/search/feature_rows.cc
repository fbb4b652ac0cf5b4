#include "server/search/feature_rows.h"

#include <algorithm>
#include <bit>

namespace mlc::server {
namespace {

bool Same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

// By a quarter: vectors that double are a third empty.
void MakeRoom(std::vector<float>& values, size_t more) {
  const size_t needed = values.size() + more;
  if (needed > values.capacity()) values.reserve(needed + needed / 4);
}

}  // namespace

void FeatureRows::Add(std::span<const float> row) {
  if (size_ == 0) common_.assign(row.begin(), row.end());
  std::vector<uint16_t> more;
  for (size_t c = 0; c < columns_; ++c) {
    if (Same(row[c], common_[c])) continue;
    const auto column = static_cast<uint16_t>(c);
    if (std::find(varying_.begin(), varying_.end(), column) == varying_.end()) {
      more.push_back(column);
    }
  }
  if (!more.empty()) Widen(more);
  MakeRoom(values_, varying_.size());
  for (uint16_t column : varying_) values_.push_back(row[column]);
  ++size_;
}

// In the rows so far, these columns are as in the first.
void FeatureRows::Widen(const std::vector<uint16_t>& more) {
  std::vector<float> wider;
  wider.reserve((size_ + 1) * (varying_.size() + more.size()));
  for (size_t r = 0; r < size_; ++r) {
    const auto row = values_.begin() + static_cast<int64_t>(r * varying_.size());
    wider.insert(wider.end(), row, row + static_cast<int64_t>(varying_.size()));
    for (uint16_t column : more) wider.push_back(common_[column]);
  }
  values_ = std::move(wider);
  varying_.insert(varying_.end(), more.begin(), more.end());
}

void FeatureRows::Read(size_t first, std::span<float> rows) const {
  const float* value = values_.data() + first * varying_.size();
  for (size_t start = 0; start < rows.size(); start += columns_) {
    const std::span<float> row = rows.subspan(start, columns_);
    std::copy(common_.begin(), common_.end(), row.begin());
    for (uint16_t column : varying_) row[column] = *value++;
  }
}

}  // namespace mlc::server
