// From a log to a report on disk.
#pragma once

#include <string>

#include "base/html/markup.h"
#include "base/status.h"
#include "db/report/tuning_data.h"

namespace mlc::report {

// The report of a job as HTML. What OpenSqliteLogForReading and ReadTuning say.
Result<std::string> ReportText(const std::string& log, const JobChoice& choice);
// Its body without the heading, for a page around it. The same errors.
Result<html::Markup> ReportBody(const std::string& log, const JobChoice& choice);
// The whole report into a file. UNWRITABLE if it cannot be written or is a log itself; it is as it
// was after an error.
Status WriteReport(const std::string& log, const JobChoice& choice, const std::string& to);

}  // namespace mlc::report
