#include "compiler/graph/evaluate/evaluate_product.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "compiler/graph/evaluate/evaluate_internal.h"

namespace mlc::graph::evaluate_internal {

namespace {

constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 8;
// A panel stays in the second-level cache.
constexpr int64_t kPanelBytes = int64_t{1} << 20;
constexpr int64_t kMaxColumns = 512;
// About 10 ms; threads take less than one to start.
constexpr double kSerialFlops = 2e7;

// acc[r][c] = sum over k of a[r][k] * panel[k][c].
[[gnu::always_inline]] inline void TileBody(const double* a, int64_t k, const double* panel,
                                            int64_t stride, double* acc) {
  double sum[kRows][kColumns] = {};
  for (int64_t i = 0; i < k; ++i) {
    const double* row = panel + i * stride;
    for (int64_t r = 0; r < kRows; ++r) {
      const double factor = a[r * k + i];
      for (int64_t c = 0; c < kColumns; ++c) sum[r][c] += factor * row[c];
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kColumns; ++c) acc[r * kColumns + c] = sum[r][c];
  }
}

using TileFunction = void (*)(const double*, int64_t, const double*, int64_t, double*);

void Tile(const double* a, int64_t k, const double* panel, int64_t stride, double* acc) {
  TileBody(a, k, panel, stride, acc);
}

#if defined(__x86_64__)
// Wider vectors, and no fused multiply-adds, so that the results are the same.
[[gnu::target("avx2")]] void WideTile(const double* a, int64_t k, const double* panel,
                                      int64_t stride, double* acc) {
  TileBody(a, k, panel, stride, acc);
}
TileFunction BestTile() { return __builtin_cpu_supports("avx2") ? WideTile : Tile; }
#else
TileFunction BestTile() { return Tile; }
#endif

void MultiplyPanel(const Product& product, int64_t first, int64_t count, int64_t stride,
                   const double* panel) {
  const TileFunction tile = BestTile();
  double acc[kRows * kColumns];
  std::vector<double> tail(static_cast<size_t>(kRows * product.k));
  for (int64_t row = 0; row < product.m; row += kRows) {
    const int64_t rows = std::min(kRows, product.m - row);
    const double* a = product.a + row * product.k;
    if (rows < kRows) {
      std::copy_n(a, rows * product.k, tail.data());
      a = tail.data();
    }
    for (int64_t column = 0; column < count; column += kColumns) {
      tile(a, product.k, panel + column, stride, acc);
      const int64_t columns = std::min(kColumns, count - column);
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(acc + r * kColumns, columns,
                    product.out + (row + r) * product.out_stride + first + column);
      }
    }
  }
}

}  // namespace

void RunProducts(int64_t count, int threads, const std::function<Product(int64_t)>& make) {
  if (count == 0) return;
  const Product sizes = make(0);
  const int64_t width =
      std::clamp<int64_t>(kPanelBytes / std::max<int64_t>(1, sizes.k) /
                              static_cast<int64_t>(sizeof(double)) / kColumns * kColumns,
                          4 * kColumns, kMaxColumns);
  const int64_t panels = (sizes.n + width - 1) / width;
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    std::vector<double> panel;
    for (int64_t unit = next++; unit < count * panels; unit = next++) {
      const Product product = make(unit / panels);
      const int64_t first = unit % panels * width;
      const int64_t columns = std::min(width, product.n - first);
      const int64_t stride = (columns + kColumns - 1) / kColumns * kColumns;
      panel.assign(static_cast<size_t>(product.k * stride), 0.0);
      product.fill(first, columns, stride, panel.data());
      MultiplyPanel(product, first, columns, stride, panel.data());
    }
  };
  const double flops = 2.0 * static_cast<double>(count) * static_cast<double>(sizes.m) *
                       static_cast<double>(sizes.k) * static_cast<double>(sizes.n);
  OnThreads(threads, flops < kSerialFlops ? 1 : count * panels, work);
}

}  // namespace mlc::graph::evaluate_internal
