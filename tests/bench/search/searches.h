// The searches that a replay compares. All use up the trials that they are given, or end before.
// Deterministic by seed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/search/portfolio.h"
#include "tests/bench/search/trials.h"

namespace mlc::bench {

// What searches of other devices leave to those that follow.
struct RelatedLog {
  server::Portfolio::SavedRows rows;
  // Of each search its fastest configs, best first.
  std::vector<std::vector<server::Point>> fastest;
};

// How a job's trials are under way: batches of up to `batch` trials, `in_flight` of them at a time.
// The first ones have `first_batch` trials (0: as the others), later ones a share of what is known.
// So many compilers build, one device times.
struct Flight {
  int batch = 8, in_flight = 1, first_batch = 0;
  double known_of_batch = 8;
  int builders = 16;
  double build_s = 0.1, trial_s = 0.012;
};

// What is withheld from the search of the service, its constants, and how trials are under way.
struct PortfolioSetting {
  RecordedSpace::Blind blind;
  server::SearchConstants constants;
  Flight flight;
};

// The search of the service on a space of one task. Returns the rows that it leaves.
server::Portfolio::SavedRows RunPortfolio(const SpaceRef& space, const PortfolioSetting& setting,
                                          const RelatedLog& log, int budget, uint64_t seed,
                                          Trials& trials);
// What searches of `others` leave, one after the other, in an order drawn by the seed.
RelatedLog LogOfOthers(std::span<const SpaceRef> others, const server::SearchConstants& constants,
                       int budget, bool noise, uint64_t seed);
void RunRandom(const RecordedSpace& space, uint64_t seed, Trials& trials);
// A population of twenty, tournament selection, uniform crossover, mutation.
void RunGenetic(const RecordedSpace& space, uint64_t seed, Trials& trials);
// Measures the values of one knob after the other, keeps the best, and starts again from a random
// config where no knob improves.
void RunDescent(const RecordedSpace& space, uint64_t seed, Trials& trials);

}  // namespace mlc::bench
