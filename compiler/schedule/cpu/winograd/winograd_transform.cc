#include "compiler/schedule/cpu/winograd/winograd_transform.h"

#include <array>

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

constexpr std::array<double, 16> kInput2 = {1, 0,  -1, 0,  //
                                            0, 1,  1,  0,  //
                                            0, -1, 1,  0,  //
                                            0, 1,  0,  -1};
constexpr std::array<double, 12> kFilter2 = {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1};
constexpr std::array<double, 8> kOutput2 = {1, 1, 1,  0,  //
                                            0, 1, -1, -1};

// Interpolation points 0, 1, -1, 2, -2 and infinity.
constexpr std::array<double, 36> kInput4 = {4, 0,  -5, 0,  1, 0,  //
                                            0, -4, -4, 1,  1, 0,  //
                                            0, 4,  -4, -1, 1, 0,  //
                                            0, -2, -1, 2,  1, 0,  //
                                            0, 2,  -1, -2, 1, 0,  //
                                            0, 4,  0,  -5, 0, 1};
constexpr std::array<double, 18> kFilter4 = {1.0 / 4,  0,         0,         //
                                             -1.0 / 6, -1.0 / 6,  -1.0 / 6,  //
                                             -1.0 / 6, 1.0 / 6,   -1.0 / 6,  //
                                             1.0 / 24, 1.0 / 12,  1.0 / 6,   //
                                             1.0 / 24, -1.0 / 12, 1.0 / 6,   //
                                             0,        0,         1};
constexpr std::array<double, 24> kOutput4 = {1, 1, 1,  1, 1,  0,  //
                                             0, 1, -1, 2, -2, 0,  //
                                             0, 1, 1,  4, 4,  0,  //
                                             0, 1, -1, 8, -8, 1};

// Sum of coefficient times value over a row of the matrix.
ExprRef Combine(const TransformMatrix& t, int row, DType dtype, int lanes,
                const std::function<ExprRef(int)>& value) {
  ExprRef sum;
  for (int c = 0; c < t.columns; ++c) {
    const double k = t.at(row, c);
    if (k == 0) continue;
    const ExprRef x = value(c);
    if (!sum) {
      sum = k == 1    ? x
            : k == -1 ? ir::MakeApply(ScalarOp::kNeg, {x})
                      : ir::MakeApply(ScalarOp::kMul, {x, ir::Float(dtype, k, lanes)});
    } else if (k == 1 || k == -1) {
      sum = ir::MakeApply(k == 1 ? ScalarOp::kAdd : ScalarOp::kSub, {sum, x});
    } else {
      sum = ir::MakeApply(ScalarOp::kFma, {x, ir::Float(dtype, k, lanes), sum});
    }
  }
  return sum;
}

}  // namespace

const WinogradMatrices& MatricesOf(int m) {
  static const WinogradMatrices two = {2, {4, 4, kInput2}, {4, 3, kFilter2}, {2, 4, kOutput2}};
  static const WinogradMatrices four = {4, {6, 6, kInput4}, {6, 3, kFilter4}, {4, 6, kOutput4}};
  return m == 2 ? two : four;
}

void EmitTransform(ir::KernelBuilder& builder, const TransformMatrix& t, ir::BufferId scratch,
                   DType dtype, int lanes, const std::function<ExprRef(int, int)>& load,
                   const std::function<void(int, int, ExprRef)>& store) {
  const int n = t.columns;
  const auto half = [&](int row, int column) { return Int(n + row * n + column); };
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) builder.Set(scratch, Int(i), load(i, j));
    for (int r = 0; r < t.rows; ++r) {
      builder.Set(scratch, half(r, j),
                  Combine(t, r, dtype, lanes, [&](int c) { return builder.Get(scratch, Int(c)); }));
    }
  }
  for (int i = 0; i < t.rows; ++i) {
    for (int r = 0; r < t.rows; ++r) {
      store(i, r,
            Combine(t, r, dtype, lanes, [&](int c) { return builder.Get(scratch, half(i, c)); }));
    }
  }
}

}  // namespace mlc::schedule
