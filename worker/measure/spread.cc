#include "worker/measure/spread.h"

#include <algorithm>

namespace mlc::worker {
namespace {

constexpr int64_t kLine = 64;
// Lines that one thread has beside each other, as of a few vectors of a row.
constexpr int64_t kBlock = 4;

}  // namespace

void Spread::Add(std::byte* begin, int64_t bytes) {
  if (const int64_t lines = bytes / kLine; lines > 0) parts_.push_back({begin, lines});
}

void Spread::Over(mlc_pool* pool) const {
  struct Work {
    const std::vector<Part>* parts;
    int64_t threads;
  } work = {&parts_, mlc_pool_threads(pool)};
  mlc_pool_run(
      pool,
      [](void* context, int thread) {
        const Work& all = *static_cast<const Work*>(context);
        for (const Part& part : *all.parts) {
          for (int64_t block = thread * kBlock; block < part.lines; block += all.threads * kBlock) {
            const int64_t end = std::min(block + kBlock, part.lines);
            for (int64_t line = block; line < end; ++line) {
              volatile std::byte* const byte = part.begin + line * kLine;
              *byte = *byte;
            }
          }
        }
      },
      &work);
}

}  // namespace mlc::worker
