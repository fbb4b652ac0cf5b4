// Chooses the next token of a sequence from the logits of a language model. The same seed gives the
// same tokens on every machine, for the same logits. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "base/rng.h"
#include "base/status.h"

namespace mlc::client {

struct SamplingTerms {
  double temperature = 0;  // 0: always the largest logit; otherwise the logits are divided by it
  int64_t top_k = 0;       // only so many of the largest; 0: all
  double top_p = 1;        // only the fewest of the largest whose probabilities sum to this
  uint64_t seed = 0;
};

class Sampler {
 public:
  // REQUIRES: temperature >= 0, top_k >= 0, 0 < top_p <= 1.
  explicit Sampler(const SamplingTerms& terms) : terms_(terms), rng_(terms.seed) {}

  // The place of the chosen logit; the first of equal ones goes before the others. DATA_LOSS if a
  // logit is NaN or all are -infinity. REQUIRES: there are logits.
  Result<int64_t> Next(std::span<const float> logits);

 private:
  const SamplingTerms terms_;
  Rng rng_;
};

}  // namespace mlc::client
