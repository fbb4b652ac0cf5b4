#include "server/search/expected_gain.h"

#include <cmath>

namespace mlc::server {
namespace {

// The usual course of a search, from experience: the gain of a trial falls with their number, and
// the faster the longer nothing was found.
double UsualGain(double tries, double stale) { return 0.25 / (1 + tries) * std::pow(0.985, stale); }

}  // namespace

double GainOfNext(const TaskCourse& course) {
  const auto stale = static_cast<double>(course.stale);
  return UsualGain(course.tries, stale) + 0.3 * course.predicted_gain / (1 + 0.5 * stale);
}

double GainOfPredicted() { return (UsualGain(1, 1) + UsualGain(2, 2)) / 3; }

double GainOfAll(const TaskCourse& course) {
  double headroom = course.predicted_gain / (1 + 0.5 * static_cast<double>(course.stale));
  for (int64_t more = 0; course.stale + more < kStaleEnd; ++more) {
    headroom += UsualGain(course.tries + static_cast<double>(more),
                          static_cast<double>(course.stale + more));
  }
  return 1 - std::exp(-headroom);
}

}  // namespace mlc::server
