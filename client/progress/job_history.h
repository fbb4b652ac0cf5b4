// What the course of a job says: the latency of the model so far, and the time left. Fed with the
// progress as it comes; the times are those of the server's clock in it. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/tuner.pb.h"

namespace mlc::client {

class JobHistory {
 public:
  // `model_ns`: expected time of the model, 0 if unknown. A job that was started again, so that its
  // time or its trials are less than before, is counted anew.
  void Add(const proto::JobProgress& progress, double model_ns);

  // Times of the model at even intervals since it is known, at most kPoints.
  const std::vector<double>& latencies() const { return latencies_; }
  // 0: unknown, or the job has ended.
  double SecondsLeft() const;

  static constexpr size_t kPoints = 256;

 private:
  // Results come in batches: what the job had when one was complete.
  struct Step {
    double elapsed_s = 0;
    int64_t measured = 0;
  };

  void AddStep(const Step& now);
  void AddLatency(double elapsed_s, double model_ns);
  double SecondsByTrials() const;

  std::vector<Step> steps_;  // of the last window, which grows with the job; at most kPoints
  double batch_ = 0;         // trials of a step, as recent ones had them at most
  Step now_;
  std::vector<double> latencies_;
  double interval_s_ = 0.25;  // between two latencies
  double next_s_ = 0;         // when the next one is due
  int64_t trials_left_ = 0;
  double budget_left_s_ = 0;  // 0: no limit
};

}  // namespace mlc::client
