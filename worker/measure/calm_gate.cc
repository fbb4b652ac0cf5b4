#include "worker/measure/calm_gate.h"

namespace mlc::worker {
namespace {

// Between what the clock's own changes come to and half the speed.
constexpr double kCalmEnough = 0.85;
// A phase of little speed lasts from some milliseconds to some seconds.
constexpr int64_t kPassNs = 5'000'000;
constexpr int64_t kLongestWaitNs = 500'000'000;
// Lost before there are timings to compare it with.
constexpr int64_t kCreditNs = 10'000'000'000;
constexpr int64_t kLostForTimed = 3;
constexpr int64_t kMostForOneNs = 1'500'000'000;

}  // namespace

bool CalmGate::IsCalm(double calm) { return calm >= kCalmEnough; }

bool CalmGate::MayLose(int64_t ns) const {
  return lost_ns_ + ns <= kMostForOneNs &&
         patience_.lost_ns + ns <= kLostForTimed * patience_.timed_ns + kCreditNs;
}

double CalmGate::Await() {
  double calm = watch_.calm();
  for (int64_t waited = 0; !IsCalm(calm) && waited < kLongestWaitNs; waited += kPassNs) {
    if (!MayLose(kPassNs)) break;
    Lost(kPassNs);
    watch_.pass(kPassNs);
    calm = watch_.calm();
  }
  return calm;
}

}  // namespace mlc::worker
