// Large products of doubles for the evaluator: panels of the right operand, made where they are
// used, times all rows of the left one. Each element is summed in the order of k and rounded after
// each step, so every machine gives the same bits. Work above a tenth of a second is split over
// several threads. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

namespace mlc::graph::evaluate_internal {

// One product out[m,n] = a[m,k] * b[k,n].
struct Product {
  const double* a = nullptr;  // dense
  double* out = nullptr;      // rows `out_stride` apart
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
  int64_t out_stride = 0;
  // Writes columns [first, first+count) of b as rows of `stride` elements. Called from several
  // threads.
  std::function<void(int64_t first, int64_t count, int64_t stride, double* panel)> fill;
};

// Runs products 0 .. count-1 of equal sizes on up to `threads` threads (0: all CPUs), or on as many
// as can be started. Several threads call `make`.
void RunProducts(int64_t count, int threads, const std::function<Product(int64_t)>& make);

}  // namespace mlc::graph::evaluate_internal
