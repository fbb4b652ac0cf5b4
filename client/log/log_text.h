// Records, workloads and statistics as text for the user and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "db/record.h"
#include "db/tuning_log.h"

namespace mlc::client {

// The best record of one requested workload; `record` is empty if the log has none.
struct BestLine {
  Digest workload;
  std::string summary;
  std::vector<db::Record> records;
};

std::string BestText(const std::vector<BestLine>& lines);
std::string BestJson(const std::vector<BestLine>& lines);
std::string RecordsText(const std::vector<db::Record>& records);
std::string RecordsJson(const std::vector<db::Record>& records);
std::string WorkloadsText(const std::vector<db::WorkloadRow>& rows);
std::string WorkloadsJson(const std::vector<db::WorkloadRow>& rows);
std::string StatsText(const db::LogStats& stats, const std::vector<db::JobRow>& jobs);
std::string StatsJson(const db::LogStats& stats, const std::vector<db::JobRow>& jobs);

}  // namespace mlc::client
