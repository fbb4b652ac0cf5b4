// The history of a job: the latency of the model over time, and the estimated time left. The caller
// adds each progress message; times are those of the server's clock in it. A value; not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/tuner.pb.h"

namespace mlc::client {

class JobHistory {
 public:
  // Adds a message. `model_ns`: the expected time of the model, 0 if unknown. If time or trials
  // decrease, the job was restarted, and the history starts anew.
  void Add(const proto::JobProgress& progress, double model_ns);

  // Latencies of the model at even intervals, from the first known one; at most kPoints.
  const std::vector<double>& latencies() const { return latencies_; }
  // 0: unknown, or the job has ended.
  double SecondsLeft() const;

  static constexpr size_t kPoints = 256;

 private:
  // The state of the job when a batch of results was complete.
  struct Step {
    double elapsed_s = 0;
    int64_t measured = 0;
  };

  void AddStep(const Step& now);
  void AddLatency(double elapsed_s, double model_ns);
  double SecondsByTrials() const;

  std::vector<Step> steps_;  // of the last window, which grows with the job; at most kPoints
  double batch_ = 0;         // most trials of a recent step
  Step now_;
  std::vector<double> latencies_;
  double interval_s_ = 0.25;  // between two latencies
  double next_s_ = 0;         // when the next one is due
  int64_t trials_left_ = 0;
  double budget_left_s_ = 0;  // 0: no limit
};

}  // namespace mlc::client
