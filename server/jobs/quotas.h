// The limits of each user and each user's share of the workers. They come from a JSON file
// (docs/reference/quotas.md):
//
//   {"default": {"running_jobs": 8}, "users": {"ada": {"weight": 2, "running_jobs": 32}}}
//
// If a user's entry leaves out a limit, the limit of "default" applies; if that leaves it out too,
// the value below.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"

namespace mlc::server {

struct Limits {
  double weight = 1;                   // share of the workers, relative to other waiting users
  int64_t running_jobs = 100;          // running at the same time
  int64_t queued_trials = 10'000'000;  // not yet made, over all running jobs
  int64_t tasks_per_job = 10'000;
  int64_t request_bytes = 16 << 20;  // size of one SubmitJob request
};

// What a user has now, without the requested job.
struct Usage {
  int64_t running_jobs = 0;
  int64_t queued_trials = 0;
};

// The size of a requested job.
struct Asked {
  int64_t trials = 0;
  int64_t tasks = 0;
  int64_t bytes = 0;
};

class Quotas {
 public:
  // INVALID_ARGUMENT that names the entry at fault: unknown names, numbers out of range.
  static Result<Quotas> Parse(const std::string& text);

  const Limits& LimitsOf(const std::string& user) const;
  // RESOURCE_EXHAUSTED that says which limit, its value and what to do.
  Status Admit(const std::string& user, const Usage& usage, const Asked& asked) const;

 private:
  Limits default_;
  std::map<std::string, Limits> users_;
};

}  // namespace mlc::server
