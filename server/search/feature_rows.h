// The features of one task's candidates. Most features describe the workload or the target and are
// equal in all rows, so they are stored once. Read returns exactly the bits that were added. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mlc::server {

class FeatureRows {
 public:
  explicit FeatureRows(size_t columns) : columns_(columns) {}

  // REQUIRES: row.size() == columns.
  void Add(std::span<const float> row);
  // Whole rows from `first` on, one after the other. REQUIRES: rows.size() is a multiple of columns
  // and the rows were added.
  void Read(size_t first, std::span<float> rows) const;
  size_t columns() const { return columns_; }
  size_t size() const { return size_; }

 private:
  void Widen(const std::vector<uint16_t>& more);

  size_t columns_;
  size_t size_ = 0;
  std::vector<float> common_;      // the first row
  std::vector<uint16_t> varying_;  // columns in which a row differs from the first
  std::vector<float> values_;      // of those, row by row
};

}  // namespace mlc::server
