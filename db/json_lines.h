// The log as text, one JSON object a line: workloads come before the records that need them, and
// records in the log's order. Each line has the version of its form; fields are added and never
// renamed. For reading, comparing, and moving records between versions. Cost models and jobs are
// not exported. Thread-safe for different streams.
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
// Writes a temporary file beside `to` and renames it, so `to` is unchanged if that fails. Writes a
// pipe, a device or a link directly.
Status ExportToFile(const TuningLog& log, const std::string& to);
// INVALID_ARGUMENT with the number of the first line that is damaged or refused,
// FAILED_PRECONDITION for a line of another version, DATA_LOSS if reading fails. Lines before it
// stay imported.
Result<ImportCounts> Import(std::istream& in, TuningLog& log);

}  // namespace mlc::db
