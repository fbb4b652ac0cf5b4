// Jobs for people: progress as the log keeps it, summaries, descriptions. Pure.
#pragma once

#include <string>

#include "db/record.h"
#include "proto/tuner.pb.h"

namespace mlc::server {

// One line of JSON with what a job's tasks have reached, for JobRow::progress.
std::string ProgressText(const proto::JobProgress& progress);
// What the log knows of a job: its state, and what its tasks had reached when the row was written.
// A text that cannot be read, or none, gives tasks without figures.
proto::JobProgress ProgressFrom(const db::JobRow& row);
// Of a row as it is in the log.
proto::JobSummary SummaryOf(const db::JobRow& row);

}  // namespace mlc::server
