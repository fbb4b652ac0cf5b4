#include "client/run/race.h"

#include <algorithm>

#include "base/quantile.h"

namespace mlc::client {
namespace {

constexpr int kRounds = 5;
constexpr int kMostRuns = 256;  // of a library in a round
// How much slower a library may be after its first round; after r rounds, the r-th part of it.
constexpr double kMargin = 0.03;

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return Quantile(values, 0.5);
}

struct Racer {
  std::vector<double> milliseconds;  // of all counted runs
  std::vector<double> quotients;     // a round each
  double last_ms = 0;                // median of its last round; 0: it has not run
  bool out = false;
  std::string error;
};

// One round of one library: the median of its runs in milliseconds.
Result<double> RunRound(const TimeRuns& time, const RaceOptions& options, Racer& racer) {
  const std::vector<double> first = MLC_TRY(time(1));
  const double usual_ms = racer.last_ms > 0 ? racer.last_ms : first.front() / 1e6;
  const double wanted = options.seconds * 1e3 / kRounds / std::max(usual_ms, 1e-6);
  const int runs = std::clamp(static_cast<int>(std::min(wanted, double{kMostRuns})),
                              options.least_runs, kMostRuns);
  std::vector<double> round;
  for (const double ns : MLC_TRY(time(runs))) round.push_back(ns / 1e6);
  racer.milliseconds.insert(racer.milliseconds.end(), round.begin(), round.end());
  racer.last_ms = MedianOf(std::move(round));
  return racer.last_ms;
}

bool IsOut(const Racer& racer) {
  const auto rounds = static_cast<double>(racer.quotients.size());
  return *std::ranges::min_element(racer.quotients) > 1 + kMargin / rounds;
}

Raced ResultOf(Racer racer) {
  Raced raced;
  raced.rounds = static_cast<int>(racer.quotients.size());
  if (!racer.quotients.empty()) raced.quotient = MedianOf(std::move(racer.quotients));
  if (!racer.milliseconds.empty()) raced.latency = Summarize(std::move(racer.milliseconds));
  raced.error = std::move(racer.error);
  return raced;
}

}  // namespace

Result<std::vector<Raced>> Race(std::span<const TimeRuns> libraries, const RaceOptions& options) {
  std::vector<Racer> racers(libraries.size());
  for (int round = 0; round < kRounds; ++round) {
    if (racers.size() == 1) (void)MLC_TRY(RunRound(libraries[0], options, racers[0]));
    for (size_t i = 1; i < racers.size(); ++i) {
      Racer& racer = racers[i];
      if (racer.out) continue;
      const double base_ms = MLC_TRY(RunRound(libraries[0], options, racers[0]));
      const Result<double> its_ms = RunRound(libraries[i], options, racer);
      if (!its_ms.ok()) {
        racer.error = its_ms.status().message();
        racer.out = true;
        continue;
      }
      racer.quotients.push_back(*its_ms / base_ms);
      racer.out = IsOut(racer);
    }
  }
  std::vector<Raced> results;
  for (Racer& racer : racers) results.push_back(ResultOf(std::move(racer)));
  return results;
}

}  // namespace mlc::client
