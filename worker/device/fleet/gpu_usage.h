// How the time went in which a worker held trials for GPUs: timing, or waiting for what. For people
// who want to know why a GPU idles. Values; the caller passes the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mlc::worker {

// What the engine sees at one moment.
struct GpuMoment {
  int gpus = 0;
  int busy = 0;         // of them, with a task
  int held = 0;         // trials for them, those with a task included
  int unbuilt = 0;      // of the others: waiting for a compiler or being compiled
  int unchecked = 0;    // built, but without reference data
  int building = 0;     // of the unbuilt: being compiled
  int builders = 1;     // compilers that may run at a time
  bool locked = false;  // another worker of this host has its turn
};

class GpuUsage {
 public:
  using Clock = std::chrono::steady_clock;

  // What holds from now until the next call.
  void Note(const GpuMoment& moment, Clock::time_point now);
  void CountTrials(int64_t trials) { trials_ += trials; }
  // Of the busy time, what went into more samples than the protocol's, because nothing else waited.
  void CountMore(double seconds) { more_ += seconds; }

  // Of the time with trials, over all GPUs; 0 without any.
  double BusyShare() const;
  // The two whose quotient that is.
  double trial_seconds() const { return with_trials_; }
  double busy_seconds() const { return busy_; }
  // "GPU busy 61 % (20 % with more samples) of 48.2 s with trials (1816 timed); idle: 35 % for
  // builds, 2 % for references, 2 % for trials; compilers 70 % busy"; empty without trials. A card
  // that waits for builds while compilers are idle waits for slow ones, which hold up the search.
  std::string ToText() const;

 private:
  double with_trials_ = 0;  // seconds, times GPUs
  double busy_ = 0;
  double more_ = 0;
  double builds_ = 0;
  double references_ = 0;
  double compiling_ = 0;  // seconds of compilers
  double compilers_ = 0;  // that there were, while trials were held
  double others_ = 0;
  int64_t trials_ = 0;
  GpuMoment moment_;
  Clock::time_point since_;
};

}  // namespace mlc::worker
