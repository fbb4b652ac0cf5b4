// Converts messages about jobs to values of the server and back. Arguments taken by && lose their
// strings to the result. Pure.
#pragma once

#include <vector>

#include "proto/tuner.pb.h"
#include "server/jobs/best_answer.h"
#include "server/jobs/job_progress.h"
#include "server/jobs/submission.h"

namespace mlc::server {

Submission FromWire(proto::SubmitJobRequest&& wire);
KernelSubmission FromWire(proto::SubmitUserKernelRequest&& wire);
BestQuestion FromWire(proto::BestRequest&& wire);

proto::SubmitJobReply ToWire(Submitted&& submitted);
proto::JobProgress ToWire(JobProgress&& progress);
proto::JobDescription ToWire(JobDescription&& description);
proto::ListJobsReply ToWire(std::vector<JobSummary>&& jobs);
proto::BestReply ToWire(BestAnswer&& answer);

}  // namespace mlc::server
