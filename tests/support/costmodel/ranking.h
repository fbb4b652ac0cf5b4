// How well a score orders the candidates of one workload: what models and drafts are judged by.
// Times are positive; a lower score predicts a faster candidate. Pure functions. REQUIRES in all:
// as many scores as times, at least one.
#pragma once

#include <cstddef>
#include <span>

namespace mlc::costmodel {

// Of the k fastest candidates, the share among the k best scores.
double TopKRecall(std::span<const double> scores, std::span<const double> times, size_t k);
// Share of pairs of different times in the right order; ties of scores count half.
double PairwiseAccuracy(std::span<const double> scores, std::span<const double> times);
// Fastest time over the fastest among the n best scores: 1 is perfect.
double BestOfN(std::span<const double> scores, std::span<const double> times, size_t n);
// How much slower the best score's candidate is than the fastest: 0 is perfect.
double Regret(std::span<const double> scores, std::span<const double> times);

}  // namespace mlc::costmodel
