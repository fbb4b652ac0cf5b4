// How far the models' predictions of one task were from the times then measured, and so within
// which factor the next measurement is to be expected. Every error is of a candidate that the model
// had not learned from when it predicted. Deterministic; not thread-safe.
#pragma once

#include <cstddef>
#include <deque>

namespace mlc::server {

class PredictionErrors {
 public:
  // The share of measurements within the predicted factor.
  static constexpr double kCoverage = 0.8;

  void Add(double predicted_ns, double measured_ns);
  // A measurement is within this factor of its prediction, either way, with probability kCoverage;
  // 0 until enough errors are known.
  double Factor() const;

 private:
  double HalfWidth() const;  // of log time

  std::deque<double> errors_;  // of log time, without sign; the latest
  double widening_ = 1;        // earned by intervals that did not hold
};

}  // namespace mlc::server
