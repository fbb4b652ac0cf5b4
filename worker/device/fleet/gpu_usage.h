// Accounts the time in which a worker held trials for GPUs: timing, or waiting, by cause. It shows
// the user why a GPU idles. Values; the caller passes the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mlc::worker {

// The state of the engine at one moment.
struct GpuMoment {
  int gpus = 0;
  int busy = 0;         // GPUs with a task
  int held = 0;         // trials for GPUs, including running ones
  int unbuilt = 0;      // trials that wait for a compiler or are being compiled
  int unchecked = 0;    // built, but without reference data
  int building = 0;     // trials that are being compiled
  int builders = 1;     // most compilers in parallel
  bool locked = false;  // another worker of this host has its turn
};

class GpuUsage {
 public:
  using Clock = std::chrono::steady_clock;

  // Records the state from now until the next call.
  void Note(const GpuMoment& moment, Clock::time_point now);
  void CountTrials(int64_t trials) { trials_ += trials; }
  // Adds busy time that went into extra samples, because nothing else waited.
  void CountMore(double seconds) { more_ += seconds; }

  // The busy share of the time with trials, over all GPUs; 0 without trials.
  double BusyShare() const;
  // The denominator and numerator of BusyShare().
  double trial_seconds() const { return with_trials_; }
  double busy_seconds() const { return busy_; }
  // A report: "GPU busy 61 % (20 % with more samples) of 48.2 s with trials (1816 timed); idle: 35
  // % for builds, 2 % for references, 2 % for trials; compilers 70 % busy". Empty without trials.
  // If a GPU waits for builds while compilers idle, few slow builds hold up the search.
  std::string ToText() const;

 private:
  double with_trials_ = 0;  // seconds, times GPUs
  double busy_ = 0;
  double more_ = 0;
  double builds_ = 0;
  double references_ = 0;
  double compiling_ = 0;  // seconds of compilers
  double compilers_ = 0;  // available seconds of compilers while trials were held
  double others_ = 0;
  int64_t trials_ = 0;
  GpuMoment moment_;
  Clock::time_point since_;
};

}  // namespace mlc::worker
