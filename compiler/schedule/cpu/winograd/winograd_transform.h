// The three transforms of Winograd's minimal filtering F(m x m, 3 x 3) as matrices, and their
// emission on vectors. Pure.
#pragma once

#include <functional>
#include <span>

#include "compiler/ir/build.h"

namespace mlc::schedule {

// Row-major, rows x columns.
struct TransformMatrix {
  int rows = 0;
  int columns = 0;
  std::span<const double> values;
  double at(int row, int column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

struct WinogradMatrices {
  int m = 2;               // outputs of a tile along one axis
  TransformMatrix input;   // (m+2) x (m+2)
  TransformMatrix filter;  // (m+2) x 3
  TransformMatrix output;  // m x (m+2)
  int size() const { return m + 2; }
};

// REQUIRES: m is 2 or 4.
const WinogradMatrices& MatricesOf(int m);

// Emits T X T' for a square X of T.columns() on vectors: `load(i, j)` gives X, `store(i, j, value)`
// takes the result. `scratch` holds at least columns + rows * columns registers.
void EmitTransform(ir::KernelBuilder& builder, const TransformMatrix& t, ir::BufferId scratch,
                   DType dtype, int lanes, const std::function<ir::ExprRef(int, int)>& load,
                   const std::function<void(int, int, ir::ExprRef)>& store);

}  // namespace mlc::schedule
