// The jobs and workers of a server as JSON for programs: mlc-tune prints it, and the live page
// serves it. Fields may be added, but are never renamed. Pure; thread-safe.
#pragma once

#include <string>

#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/state/job_figures.h"

namespace mlc::server {

// "running", "done", "cancelled", "failed".
const char* StateText(proto::JobState state);
// "untested", "ready", "quarantined", "draining", "offline".
const char* StateText(proto::WorkerState state);

// One document with "schema": "mlc.tune/1": an event of --json-lines. `seconds_left`: 0 if unknown.
std::string ProgressJson(const ModelInfo& model, const proto::JobProgress& progress,
                         double seconds_left = 0);
// One document with "schema": "mlc.jobs/1", newest first.
std::string JobsJson(const proto::ListJobsReply& jobs);
// One document with "schema": "mlc.workers/1", by name.
std::string WorkersJson(const proto::ListWorkersReply& workers);

}  // namespace mlc::server
