// Small matrix products by roles for tests of mbarriers and of the copies that arrive at them: one
// warp brings steps of both operands, a warpgroup multiplies them. The interpreter and a GPU run
// the same kernels. Values are small integers, so that sums are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/types/dtype.h"

namespace mlc::ir {

struct AsyncProduct {
  const char* name;
  DType dtype = DType::kF16;                        // of the rows
  std::optional<DType> columns_dtype = {};          // if it is another one
  bool tensor_rows = true, tensor_columns = false;  // by copy_tensor; else packed, by copy_bulk
  int blocks = 1;                                   // of 64 rows
  int rows = 60, columns = 16, depth = 200;         // what tensor copies find; the rest is zero
  int pitch = 208;                                  // of rows and columns in memory
  int stages = 2;
  bool boxes = false;  // of 3 x 5 x 4 rows a box in steps, which reaches beyond each dimension
  int cluster = 1;     // blocks that bring a part of the columns each, to all of them

  int step() const { return 128 / static_cast<int>(SizeOf(dtype)); }  // elements of k
  DType of_columns() const { return columns_dtype.value_or(dtype); }
  int steps() const { return (depth + step() - 1) / step(); }
  int SourceOf(int row) const;  // among those in memory; outside of them, it is zero
  std::string Text() const;
  std::vector<double> Rows() const;     // the first parameter
  std::vector<double> Columns() const;  // the second
  std::vector<double> Results() const;  // what the third, of f32, must hold
};

// Each kind of copy in each type, some with several blocks or more stages.
std::vector<AsyncProduct> AsyncProducts();

}  // namespace mlc::ir
