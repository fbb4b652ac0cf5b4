#include "client/log/log_commands.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/target/target.h"
#include "db/confirmed_best.h"
#include "db/json_lines.h"
#include "db/report/explain.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

Result<std::vector<std::string>> TargetsOf(const LogOptions& options, const db::TuningLog& log) {
  if (!options.target.empty()) return std::vector<std::string>{options.target};
  return log.Targets();
}

Result<BestLine> BestOf(const LogOptions& options, const db::TuningLog& log, const Digest& key,
                        const std::vector<std::string>& targets) {
  BestLine line;
  line.workload = key;
  if (const auto row = MLC_TRY(log.FindWorkload(key))) line.summary = row->summary;
  for (const std::string& target : targets) {
    for (db::Record& record :
         MLC_TRY(db::BestConfigs(log, key, target, options.limit, report::CanGenerate))) {
      line.records.push_back(std::move(record));
    }
  }
  return line;
}

Result<db::Record> RecordBy(const db::TuningLog& log, const std::string& what) {
  int64_t id = 0;
  const char* end = what.data() + what.size();
  if (const auto parsed = std::from_chars(what.data(), end, id);
      parsed.ec == std::errc() && parsed.ptr == end && id > 0) {
    db::RecordQuery query;
    query.after_id = id - 1;
    query.up_to_id = id;
    const std::vector<db::Record> found = MLC_TRY(log.List(query));
    if (!found.empty()) return found.front();
  } else if (const Result<Digest> uid = Digest::Parse(what); uid.ok()) {
    std::optional<db::Record> found = MLC_TRY(log.Find(*uid));
    if (found) return *std::move(found);
  }
  return NotFound("there is no record " + what + " in the log");
}

// The job's target text has the calibrated figures that the class text lacks.
Result<target::Target> TargetOfRecord(const db::TuningLog& log, const db::Record& record) {
  const std::optional<db::JobRow> job = MLC_TRY(log.FindJob(record.job_id));
  return target::Target::Parse(job ? job->target : record.target);
}

}  // namespace

Result<Digest> WorkloadKeyOf(const std::string& what) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(what, error)) {
    Result<Digest> key = Digest::Parse(what);
    if (key.ok()) return key;
    return NotFound("'" + what + "' is neither a workload's digest nor a file with its text");
  }
  std::ifstream file(what);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const Result<graph::Workload> workload = graph::Workload::Parse(text);
  if (!workload.ok()) return workload.status().WithPrefix(what);
  return workload->digest();
}

Result<std::string> BestCommand(const LogOptions& options, const std::vector<Digest>& workloads) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  const std::vector<std::string> targets = MLC_TRY(TargetsOf(options, *log));
  std::vector<BestLine> lines;
  for (const Digest& key : workloads) {
    lines.push_back(MLC_TRY(BestOf(options, *log, key, targets)));
  }
  return options.json ? BestJson(lines) : BestText(lines);
}

Result<std::string> ListCommand(const LogOptions& options, const std::string& workload) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  if (workload.empty()) {
    const std::vector<db::WorkloadRow> rows = MLC_TRY(log->Workloads());
    return options.json ? WorkloadsJson(rows) : WorkloadsText(rows);
  }
  db::RecordQuery query;
  query.workload = MLC_TRY(WorkloadKeyOf(workload));
  if (!options.target.empty()) query.target = options.target;
  query.limit = options.limit;
  const std::vector<db::Record> records = MLC_TRY(log->List(query));
  return options.json ? RecordsJson(records) : RecordsText(records);
}

Result<std::string> ShowCommand(const LogOptions& options, const std::string& record) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  const db::Record found = MLC_TRY(RecordBy(*log, record));
  const auto json = nlohmann::ordered_json::parse(db::ToJsonLine(found));
  if (options.json) return json.dump() + "\n";
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (key == "config") {
      text += key + ": " + schedule::BriefConfig(found.config) + "\n";
      continue;
    }
    text += key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
  }
  const std::optional<db::WorkloadRow> row = MLC_TRY(log->FindWorkload(found.workload));
  return text + (row ? row->summary + "\n" + row->text + "\n" : "");
}

Result<std::string> ExplainCommand(const LogOptions& options, const std::string& what) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  Result<db::Record> record = RecordBy(*log, what);
  if (!record.ok()) {
    const Digest key = MLC_TRY(WorkloadKeyOf(what));
    const BestLine best = MLC_TRY(BestOf(options, *log, key, MLC_TRY(TargetsOf(options, *log))));
    if (best.records.empty()) return NotFound("the log has no record of " + what);
    record = best.records.front();
  }
  const std::optional<db::WorkloadRow> row = MLC_TRY(log->FindWorkload(record->workload));
  if (!row) return DataLoss("the log lacks workload " + record->workload.ToText());
  const graph::Workload workload = MLC_TRY(graph::Workload::Parse(row->text));
  const target::Target target = MLC_TRY(TargetOfRecord(*log, *record));
  std::string text = MLC_TRY(report::Explain(workload, target, *record));
  if (!options.json) return text;
  nlohmann::ordered_json json;
  json["schema"] = "mlc.log.explain/1";
  json["record"] = nlohmann::ordered_json::parse(db::ToJsonLine(*record));
  json["text"] = text;
  return json.dump() + "\n";
}

Result<std::string> StatsCommand(const LogOptions& options) {
  const auto log = MLC_TRY(db::OpenSqliteLogForReading(options.file));
  const db::LogStats stats = MLC_TRY(log->Stats());
  const std::vector<db::JobRow> jobs = MLC_TRY(log->Jobs());
  return options.json ? StatsJson(stats, jobs) : StatsText(stats, jobs);
}

Result<std::string> VerifyCommand(const LogOptions& options, bool& sound) {
  const db::VerifyReport report = MLC_TRY(db::VerifyLog(options.file));
  sound = report.problems.empty();
  if (options.json) {
    nlohmann::ordered_json json;
    json["schema"] = "mlc.log.verify/1";
    json["workloads"] = report.workloads;
    json["records"] = report.records;
    json["problems"] = report.problems;
    return json.dump() + "\n";
  }
  std::string text;
  for (const std::string& problem : report.problems) text += problem + "\n";
  return text + (sound ? "sound: " : "damaged: ") + std::to_string(report.workloads) +
         " workloads, " + std::to_string(report.records) + " records\n";
}

}  // namespace mlc::client
