// The log as text, one JSON object a line: workloads before the records that need them, then jobs'
// records in the log's order. Every line tells the version of its form, in which fields are
// added and never renamed. For looking, diffing, moving between versions. Cost models and jobs are
// not exported.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "base/status.h"
#include "db/tuning_log.h"

namespace mlc::db {

std::string ToJsonLine(const WorkloadRow& row);
std::string ToJsonLine(const Record& record);

struct ImportCounts {
  int64_t workloads = 0;
  int64_t added = 0;
  int64_t duplicates = 0;
};

Status Export(const TuningLog& log, std::ostream& out);
// Into a file by way of a temporary one beside it: `to` is as it was where that fails. A pipe, a
// device or a link is written as it is.
Status ExportToFile(const TuningLog& log, const std::string& to);
// INVALID_ARGUMENT with the line's number at the first line that is damaged or refused,
// FAILED_PRECONDITION for one of another version, DATA_LOSS if reading fails; what came before it
// stays.
Result<ImportCounts> Import(std::istream& in, TuningLog& log);

}  // namespace mlc::db
