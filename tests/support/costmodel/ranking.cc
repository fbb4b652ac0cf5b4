#include "tests/support/costmodel/ranking.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mlc::costmodel {
namespace {

// Indices by value, lowest first; equal values keep their order.
std::vector<size_t> Order(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  return order;
}

}  // namespace

double TopKRecall(std::span<const double> scores, std::span<const double> times, size_t k) {
  k = std::min(k, times.size());
  std::vector<size_t> chosen = Order(scores);
  std::vector<size_t> fastest = Order(times);
  chosen.resize(k);
  fastest.resize(k);
  size_t hits = 0;
  for (size_t i : chosen) {
    hits += static_cast<size_t>(std::count(fastest.begin(), fastest.end(), i));
  }
  return static_cast<double>(hits) / static_cast<double>(k);
}

double PairwiseAccuracy(std::span<const double> scores, std::span<const double> times) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    for (size_t j = i + 1; j < times.size(); ++j) {
      if (times[i] == times[j]) continue;
      ++pairs;
      if (scores[i] == scores[j]) {
        right += 0.5;
      } else if ((scores[i] < scores[j]) == (times[i] < times[j])) {
        ++right;
      }
    }
  }
  return pairs > 0 ? right / pairs : 1;
}

double BestOfN(std::span<const double> scores, std::span<const double> times, size_t n) {
  const std::vector<size_t> order = Order(scores);
  double best = times[order[0]];
  for (size_t i = 1; i < std::min(n, order.size()); ++i) best = std::min(best, times[order[i]]);
  return *std::min_element(times.begin(), times.end()) / best;
}

double Regret(std::span<const double> scores, std::span<const double> times) {
  return 1 / BestOfN(scores, times, 1) - 1;
}

}  // namespace mlc::costmodel
