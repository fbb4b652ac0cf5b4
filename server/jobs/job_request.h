// A request for a job, checked and parsed; its text form in the log; the id of its job.
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
  int64_t models = 0;  // prior knowledge: the newest model in the log when the job began; 0: none
  std::vector<JobVariant> variants;  // none: one, in which tasks are used as often as they occur
  // The config of a user-supplied kernel, which is all that the job measures; empty: it searches.
  // Only requests that the role admin may make have one.
  std::string user_kernel;

  // One line of JSON, as the log keeps it.
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
  std::string owner;  // not of the request's text: see OwnerOf
};

// Whose job it is: the caller's, or, of a local caller, whose it says. INVALID_ARGUMENT for a name
// that is none.
Result<std::string> OwnerOf(const Submission& request, const Caller& caller);

// INVALID_ARGUMENT that names the task or option at fault.
Result<JobRequest> ParseJobRequest(const Submission& request);

// The same for a user-supplied kernel, with all that UserKernel::ToConfig refuses. The number of
// trials is not the caller's.
Result<JobRequest> ParseUserKernelRequest(const KernelSubmission& request);

// INVALID_ARGUMENT for a workload that would cost its server too much: see
// schedule::CheckAdmissible. All that a server reads goes this way, from the log, too.
Result<graph::Workload> ParseWorkload(std::string_view text);

// Equal for equal tasks, variants, class of target, seed and kernel. `salt` sets a fresh job apart;
// 0 for none.
Digest JobIdOf(const JobRequest& request, int64_t salt);

}  // namespace mlc::server
