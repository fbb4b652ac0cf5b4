// A checked and parsed request for a job, its text form in the log, and the id of its job. Values;
// the functions are pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "db/record.h"
#include "server/jobs/submission.h"
#include "server/security/caller.h"

namespace mlc::server {

// One way to execute the job's model.
struct JobVariant {
  std::string name;
  std::vector<int32_t> uses;  // how often each task is executed
};

struct JobOptions {
  int64_t trials = 0;
  uint64_t seed = 0;
  bool use_history = true;
  int64_t time_budget_ms = 0;
  int batch = 16;
  // What the search starts from depends on what the log holds alone, not on the order in which it
  // was inserted (search_input.h).
  bool reproducible = false;
  int64_t models = 0;  // prior knowledge: the newest model in the log when the job began; 0: none
  std::vector<JobVariant> variants;  // none: one, in which tasks are used as often as they occur
  // The config of a user-supplied kernel. If it is not empty, the job measures only this kernel or,
  // for one with tunable parameters (tuned_kernel.h), searches its specification; if it is empty,
  // the job searches the families. Only requests that need the role admin set it.
  std::string user_kernel;

  // The options as one line of JSON, as the log stores them.
  std::string ToText() const;
  static Result<JobOptions> Parse(const std::string& text);
};

struct JobRequest {
  std::vector<graph::Workload> workloads;
  std::vector<db::JobTask> tasks;  // parallel to workloads
  target::Target target;
  JobOptions options;
  bool fresh = false;
  std::string label;
  int32_t priority = 0;
  std::string owner;  // from the caller, see OwnerOf
};

// The owner of the job: the caller's name or, for a local caller, the name in the request.
// INVALID_ARGUMENT for an invalid name.
Result<std::string> OwnerOf(const Submission& request, const Caller& caller);

// INVALID_ARGUMENT that names the task or option at fault.
Result<JobRequest> ParseJobRequest(const Submission& request);

// Parses a request for a user-supplied kernel; rejects all that UserKernel::ToConfig rejects. The
// caller chooses the number of trials only of a
// specification.
Result<JobRequest> ParseUserKernelRequest(const KernelSubmission& request);

// Parses a workload. INVALID_ARGUMENT if the server would spend too much on it
// (schedule::CheckAdmissible). The server reads every workload with this function, also those of
// the log.
Result<graph::Workload> ParseWorkload(std::string_view text);

// The id of the job. It is equal for equal tasks, variants, target class, seed, kernel and
// reproducibility. `salt`
// gives a fresh job its own id; 0 for none.
Digest JobIdOf(const JobRequest& request, int64_t salt);

}  // namespace mlc::server
