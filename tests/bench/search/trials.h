// Follows the trials of one search on a recorded space: what a worker would report of each, and how
// good the config is that the search would choose so far. Not thread-safe.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "tests/bench/search/recorded_space.h"

namespace mlc::bench {

class Trials {
 public:
  // After so many trials, the quality from then on: time of the optimum over that of the config
  // with the lowest measured time, both without noise.
  using Steps = std::vector<std::pair<int, double>>;

  // `noise`: a trial reports the median of five of the recorded timings.
  Trials(SpaceRef space, int most, bool noise, Rng rng)
      : space_(std::move(space)), most_(most), noise_(noise), rng_(rng) {}

  // From now on timings scatter by this share (standard deviation, of log time) beyond the recorded
  // noise, and this share of the trials fails although the config is correct.
  void Disturb(double scatter, double failures) {
    scatter_ = scatter;
    failures_ = failures;
  }
  // Makes a trial, which counts even if it fails: its time in ns, or 0. REQUIRES: !over(), and the
  // point is in the space.
  double Measure(const server::Point& point);
  // When the last trial ended, in seconds of a simulated clock.
  void NoteTime(double s) { ended_s_.push_back(s); }
  // When it had made so many trials; 0 without a clock.
  double SecondsOf(int trial) const {
    const auto place = static_cast<size_t>(trial);
    return place > 0 && place <= ended_s_.size() ? ended_s_[place - 1] : 0;
  }
  // A time that was predicted with an interval.
  void CountInterval(bool holds) {
    ++intervals_;
    holding_ += holds ? 1 : 0;
  }
  int intervals() const { return intervals_; }
  int holding() const { return holding_; }
  bool over() const { return count_ >= most_; }
  int count() const { return count_; }
  const Steps& steps() const { return steps_; }
  // The configs with the lowest measured times, best first.
  std::vector<server::Point> Fastest(size_t most) const;
  // The first trial from which the quality is `goal` or more; 0: never.
  int Reached(double goal) const;

 private:
  struct Mean {
    double sum = 0;
    int count = 0;
  };
  double Timing(const RecordedSpace::Row& row);

  SpaceRef space_;
  int most_;
  bool noise_;
  double scatter_ = 0, failures_ = 0;
  Rng rng_;
  int count_ = 0, intervals_ = 0, holding_ = 0;
  std::map<server::Point, Mean> measured_;
  std::vector<double> ended_s_;
  Steps steps_;
};

}  // namespace mlc::bench
