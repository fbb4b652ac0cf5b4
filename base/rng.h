// A small seeded generator (SplitMix64, Steele et al. 2014). The same seed gives the same sequence
// on every machine. Split() gives independent streams, so that more draws in one place do not
// change the numbers of another. A value; not thread-safe.
#pragma once

#include <cstdint>

namespace mlc {

__extension__ using Wide = unsigned __int128;

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }
  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // An independent stream for the given purpose.
  Rng Split(uint64_t purpose) {
    Rng mixed(state_ ^ (purpose * 0xd1342543de82ef95u));
    return Rng(mixed.Next());
  }

 private:
  uint64_t state_;
};

}  // namespace mlc
