// The load balance of a kernel whose threads take chunks one after the other. Pure; thread-safe.
#pragma once

#include <cmath>
#include <cstdint>

namespace mlc::schedule {

// Cuts `units` into `chunks` parts; returns the largest part over the mean one.
inline double LargestPart(int64_t units, int64_t chunks) {
  const int64_t largest = (units + chunks - 1) / chunks;
  return static_cast<double>(largest * chunks) / static_cast<double>(units);
}

// The longest thread's share over the mean. `largest`: the largest chunk over the mean one; with
// many chunks per thread, other chunks compensate for it.
inline double ChunkImbalance(double chunks, int threads, double largest = 1) {
  const double rounds = std::ceil(chunks / threads);
  return rounds * threads / chunks * (1 + (largest - 1) / rounds);
}

}  // namespace mlc::schedule
