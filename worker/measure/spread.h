// Puts tensors of a trial where those of a network are: in the caches of other cores. A kernel that
// runs again and again on the same tensors finds what its threads read last in their own caches.
// In a network another kernel has just written it, and cut it otherwise: a layer norm of 128 x 768
// took 5 us on 16 CPUs by itself, and 50 behind a product. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace mlc::worker {

class Spread {
 public:
  // `begin` is borrowed; whole cache lines of it take part.
  void Add(std::byte* begin, int64_t bytes);
  bool empty() const { return parts_.empty(); }
  // Each thread writes its blocks, as they are, in turns with the other threads. No kernel may run.
  void Over(mlc_pool* pool) const;

 private:
  struct Part {
    std::byte* begin;
    int64_t lines;
  };
  std::vector<Part> parts_;
};

}  // namespace mlc::worker
