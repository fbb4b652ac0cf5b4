#include "client/run/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace mlc::client {
namespace {

// Tokens in descending order of their logits, sorted as far as they are asked for: a vocabulary has
// 10^5 tokens, of which few count.
class Ranking {
 public:
  explicit Ranking(std::span<const float> logits) : logits_(logits), tokens_(logits.size()) {
    std::iota(tokens_.begin(), tokens_.end(), 0);
  }
  int64_t operator[](size_t rank) {
    while (rank >= sorted_) {
      const size_t end = std::min(tokens_.size(), std::max<size_t>(64, 8 * sorted_));
      const auto at = [&](size_t i) { return tokens_.begin() + static_cast<std::ptrdiff_t>(i); };
      std::partial_sort(at(sorted_), at(end), tokens_.end(), [&](int64_t a, int64_t b) {
        const float x = logits_[static_cast<size_t>(a)];
        const float y = logits_[static_cast<size_t>(b)];
        return x != y ? x > y : a < b;
      });
      sorted_ = end;
    }
    return tokens_[rank];
  }

 private:
  const std::span<const float> logits_;
  std::vector<int64_t> tokens_;
  size_t sorted_ = 0;
};

}  // namespace

Result<int64_t> Sampler::Next(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
  size_t first = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      return DataLoss("the logit of token " + std::to_string(i) + " is NaN");
    if (logits[i] > largest) {
      largest = logits[i];
      first = i;
    }
  }
  if (std::isinf(largest)) {
    return DataLoss(largest < 0 ? "all logits are -infinity" : "a logit is infinite");
  }
  if (terms_.temperature == 0) return static_cast<int64_t>(first);

  const auto weight = [&](size_t token) {
    return std::exp((static_cast<double>(logits[token]) - largest) / terms_.temperature);
  };
  const size_t most = terms_.top_k == 0
                          ? logits.size()
                          : std::min(logits.size(), static_cast<size_t>(terms_.top_k));
  // Only a choice among the largest needs an order.
  const bool ranked = most < logits.size() || terms_.top_p < 1;
  Ranking ranking(logits);
  const auto token = [&](size_t rank) {
    return ranked ? ranking[rank] : static_cast<int64_t>(rank);
  };
  const auto weight_at = [&](size_t rank) { return weight(static_cast<size_t>(token(rank))); };
  // top_p is a share of all candidates, whose order does not matter for their sum.
  double sum = 0;
  for (size_t rank = 0; rank < most; ++rank)
    sum += most < logits.size() ? weight_at(rank) : weight(rank);
  double kept = 0;
  size_t count = 0;
  while (count < most && (terms_.top_p == 1 || kept < terms_.top_p * sum)) {
    kept += weight_at(count++);
  }
  double place = rng_.Uniform() * kept;
  for (size_t rank = 0; rank + 1 < count; ++rank) {
    place -= weight_at(rank);
    if (place < 0) return token(rank);
  }
  return token(count - 1);
}

}  // namespace mlc::client
