// Reads a log and writes a report to a file. Thread-safe for different files.
#pragma once

#include <string>

#include "base/html/markup.h"
#include "base/status.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

// The report of a job as HTML. Errors of OpenSqliteLogForReading and ReadTuning.
Result<std::string> ReportText(const std::string& log, const JobChoice& choice);
// The report without its heading, for embedding into another page. The same errors.
Result<html::Markup> ReportBody(const std::string& log, const JobChoice& choice);
// Writes the report to a file. UNWRITABLE if the file cannot be written or is a log itself; an
// error leaves it unchanged.
Status WriteReport(const std::string& log, const JobChoice& choice, const std::string& to);

}  // namespace mlc::report
