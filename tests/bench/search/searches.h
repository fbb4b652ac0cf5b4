// The searches that a replay compares. All use up the trials that they are given, or end before.
// Deterministic by seed.
#pragma once

#include <cstdint>
#include <span>

#include "server/search/portfolio.h"
#include "tests/bench/search/trials.h"

namespace mlc::bench {

// The search of the service on a space of one task. `rows`: what earlier jobs left. Returns what it
// leaves itself.
server::Portfolio::SavedRows RunPortfolio(const SpaceRef& space, RecordedSource::Blind blind,
                                          const server::Portfolio::SavedRows& rows, int budget,
                                          uint64_t seed, Trials& trials);
// The rows that searches of `others` leave, one after the other, in an order drawn by the seed.
server::Portfolio::SavedRows RowsOfOthers(std::span<const SpaceRef> others, int budget, bool noise,
                                          uint64_t seed);
void RunRandom(const RecordedSpace& space, uint64_t seed, Trials& trials);
// A population of twenty, tournament selection, uniform crossover, mutation.
void RunGenetic(const RecordedSpace& space, uint64_t seed, Trials& trials);
// Measures the values of one knob after the other, keeps the best, and starts again from a random
// config where no knob improves.
void RunDescent(const RecordedSpace& space, uint64_t seed, Trials& trials);

}  // namespace mlc::bench
