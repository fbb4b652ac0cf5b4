#include "server/tuner/running_job.h"

namespace mlc::server {
namespace {

// Compilers say much.
constexpr size_t kMostOfWhy = 300;

}  // namespace

std::string AbandonedText(const JobFacts& facts) {
  if (facts.abandoned == 0) return {};
  return std::to_string(facts.abandoned) + (facts.abandoned == 1 ? " trial" : " trials") +
         " could not be run by any worker, last: " + facts.abandon_reason.substr(0, kMostOfWhy);
}

}  // namespace mlc::server
