// A request for a job as received, without any check. Plain values; server/api converts them from
// messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"

namespace mlc::server {

struct SubmittedTask {
  std::string workload;  // text
  int32_t occurrences = 0;
  std::string label;
  std::vector<int32_t> uses;  // in each variant, in their order
};

struct SubmittedOptions {
  int64_t trials = 0;
  uint64_t seed = 0;
  bool fresh = false;
  int64_t time_budget_ms = 0;
  int32_t batch = 0;  // 0: the server's choice
  int32_t priority = 0;
  bool reproducible = false;
};

struct Submission {
  std::vector<SubmittedTask> tasks;
  std::string target;  // full text
  SubmittedOptions options;
  std::string label;
  std::string user;                   // from a local caller, see OwnerOf
  std::vector<std::string> variants;  // names, the default one first; none: one variant
  int64_t bytes = 0;                  // size of the message
};

// A request to measure one user-supplied kernel, or to search the configs of a specification.
struct KernelSubmission {
  Submission job;
  schedule::UserKernel kernel;  // without a specification
  std::string specification;    // of a kernel with tunable parameters; empty: there is none
};

// The answer to a submission.
struct Submitted {
  std::string job;       // id, 32 hexadecimal digits
  bool resumed = false;  // the log knew the job before
  bool joined = false;   // the job was running already
};

}  // namespace mlc::server
