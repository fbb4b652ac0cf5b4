// The report of mlc-tune --replay-only: what a log knows of a model's tasks, and what it lacks. As
// text and as JSON, the document "mlc.tune/1" of a job with a member "replay". Fields may be added,
// but are never renamed. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/tune/options/tune_options.h"
#include "compiler/package/library.h"
#include "server/jobs/replay.h"
#include "server/state/job_figures.h"

namespace mlc::client {

struct ReplayReport {
  server::ModelInfo model;
  std::string target;                    // class text
  std::vector<package::Choice> choices;  // what a build takes; parallel to the model's tasks
  std::vector<double> default_ns;        // times of the tasks' default configs; 0: not in the log
  server::ReplayedSearch search;

  // Tasks of the variant that a build takes whose kernels were not measured.
  std::vector<size_t> Missing() const;
};

std::string ReplayText(const TuneOptions& options, const ReplayReport& report);
std::string ReplayJson(const TuneOptions& options, const ReplayReport& report);

}  // namespace mlc::client
