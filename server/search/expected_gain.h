// What more trials of a task are expected to gain, from the usual course of a search and from what
// the models predict. Relative, 0 to 1. Pure.
#pragma once

#include <cstdint>

namespace mlc::server {

// Results without an improvement after which a search ends.
inline constexpr int64_t kStaleEnd = 400;

// Where the search of a task stands.
struct TaskCourse {
  double tries = 0;           // trials and those under way; what earlier jobs knew counts half
  int64_t stale = 0;          // trials without an improvement, and those under way
  double predicted_gain = 0;  // log time that is predicted below the best
};

// Of one more trial.
double GainOfNext(const TaskCourse& course);
// Of one more trial of a config that a similar workload predicts: it gains nothing itself, but
// opens the way for the next two.
double GainOfPredicted();
// Of all trials to come, at most.
double GainOfAll(const TaskCourse& course);

}  // namespace mlc::server
