#include "db/report/write_report.h"

#include <memory>

#include "base/html/write_page.h"
#include "db/replaceable.h"
#include "db/report/tuning_page.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::report {

using html::WritePage;

Result<std::string> ReportText(const std::string& log, const JobChoice& choice) {
  const std::unique_ptr<db::TuningLog> opened = MLC_TRY(db::OpenSqliteLogForReading(log));
  TuningData data = MLC_TRY(ReadTuning(*opened, choice));
  data.log = log;
  return TuningPage(data);
}

Result<html::Markup> ReportBody(const std::string& log, const JobChoice& choice) {
  const std::unique_ptr<db::TuningLog> opened = MLC_TRY(db::OpenSqliteLogForReading(log));
  TuningData data = MLC_TRY(ReadTuning(*opened, choice));
  data.log = log;
  return TuningBody(data);
}

Status WriteReport(const std::string& log, const JobChoice& choice, const std::string& to) {
  MLC_TRY(db::CheckReplaceable(to, log));
  return WritePage(to, MLC_TRY(ReportText(log, choice)));
}

}  // namespace mlc::report
