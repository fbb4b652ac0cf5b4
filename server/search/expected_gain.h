// The gain that more trials of a task are expected to bring, from the typical course of a search
// and the predictions of the models. Gains are relative, 0 to 1. Pure; thread-safe.
#pragma once

#include <cstdint>

namespace mlc::server {

// A search ends after this many results without an improvement.
inline constexpr int64_t kStaleEnd = 120;

// The state of a task's search.
struct TaskCourse {
  double tries = 0;   // trials, also those in progress; known results of earlier jobs count half
  int64_t stale = 0;  // trials without an improvement, and those in progress
  double predicted_gain = 0;  // predicted log time below that of the best
};

// Gain of one more trial.
double GainOfNext(const TaskCourse& course);
// Gain of one more trial of a transferred config. The trial itself gains nothing, but the next two
// trials build on it.
double GainOfPredicted();
// Upper bound of the gain of all further trials.
double GainOfAll(const TaskCourse& course);

}  // namespace mlc::server
