#include "client/log/log_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/json_lines.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string TimeOf(const Measurement& m) {
  const std::string outcome(ToText(m.outcome));
  if (m.outcome != Outcome::kOk) return outcome;
  return std::to_string(std::llround(m.median_ns)) + " ns";
}

Json RecordJson(const db::Record& record) {
  Json json = Json::parse(db::ToJsonLine(record));
  for (const char* of_line : {"kind", "version"}) json.erase(of_line);
  json["id"] = record.id;
  return json;
}

std::string Right(const std::string& text, size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

}  // namespace

std::string BestText(const std::vector<BestLine>& lines) {
  std::string text;
  for (const BestLine& line : lines) {
    text += line.workload.ToText() + "  " + line.summary + "\n";
    if (line.records.empty()) text += "  no record\n";
    for (const db::Record& record : line.records) {
      text += "  " + Right(TimeOf(record.measurement), 12) + "  " +
              schedule::BriefConfig(record.config) + "  [" + record.target + "]\n";
    }
  }
  return text;
}

std::string BestJson(const std::vector<BestLine>& lines) {
  Json json;
  json["schema"] = "mlc.log.best/1";
  json["best"] = Json::array();
  for (const BestLine& line : lines) {
    Json entry;
    entry["workload"] = line.workload.ToText();
    entry["summary"] = line.summary;
    entry["records"] = Json::array();
    for (const db::Record& record : line.records) entry["records"].push_back(RecordJson(record));
    json["best"].push_back(entry);
  }
  return Dump(json);
}

std::string RecordsText(const std::vector<db::Record>& records) {
  std::string text;
  for (const db::Record& record : records) {
    text += Right(std::to_string(record.id), 8) + "  " + record.workload.ToText().substr(0, 12) +
            "  " + Right(TimeOf(record.measurement), 13) + "  " + record.arm + "  " +
            schedule::BriefConfig(record.config) + "\n";
  }
  return text;
}

std::string RecordsJson(const std::vector<db::Record>& records) {
  Json json;
  json["schema"] = "mlc.log.records/1";
  json["records"] = Json::array();
  for (const db::Record& record : records) json["records"].push_back(RecordJson(record));
  return Dump(json);
}

std::string WorkloadsText(const std::vector<db::WorkloadRow>& rows) {
  std::string text;
  for (const db::WorkloadRow& row : rows) text += row.key.ToText() + "  " + row.summary + "\n";
  return text;
}

std::string WorkloadsJson(const std::vector<db::WorkloadRow>& rows) {
  Json json;
  json["schema"] = "mlc.log.workloads/1";
  json["workloads"] = Json::array();
  for (const db::WorkloadRow& row : rows) {
    Json entry;
    entry["workload"] = row.key.ToText();
    entry["summary"] = row.summary;
    entry["text"] = row.text;
    json["workloads"].push_back(entry);
  }
  return Dump(json);
}

std::string StatsText(const db::LogStats& stats, const std::vector<db::JobRow>& jobs) {
  std::string text = "schema " + std::to_string(stats.schema_version) + ", " +
                     std::to_string(stats.workloads) + " workloads, " +
                     std::to_string(stats.records) + " records, " + std::to_string(stats.models) +
                     " saved models, " + std::to_string(stats.jobs) + " jobs\n";
  for (size_t i = 0; i < stats.by_outcome.size(); ++i) {
    if (stats.by_outcome[i] == 0) continue;
    text += Right(std::to_string(stats.by_outcome[i]), 10) + "  " +
            std::string(ToText(static_cast<Outcome>(i))) + "\n";
  }
  for (const db::JobRow& job : jobs) {
    text += "job " + job.id.ToText() + "  " + std::string(db::ToText(job.state)) + "  " +
            std::to_string(job.trials) + " trials  " + job.label + "\n";
  }
  return text;
}

std::string StatsJson(const db::LogStats& stats, const std::vector<db::JobRow>& jobs) {
  Json json;
  json["schema"] = "mlc.log.stats/1";
  json["schema_version"] = stats.schema_version;
  json["workloads"] = stats.workloads;
  json["records"] = stats.records;
  json["models"] = stats.models;
  Json outcomes = Json::object();
  for (size_t i = 0; i < stats.by_outcome.size(); ++i) {
    outcomes[std::string(ToText(static_cast<Outcome>(i)))] = stats.by_outcome[i];
  }
  json["outcomes"] = outcomes;
  json["jobs"] = Json::array();
  for (const db::JobRow& job : jobs) {
    Json entry;
    entry["job"] = job.id.ToText();
    entry["label"] = job.label;
    entry["state"] = db::ToText(job.state);
    entry["trials"] = job.trials;
    entry["created_us"] = job.created_us;
    json["jobs"].push_back(entry);
  }
  return Dump(json);
}

}  // namespace mlc::client
