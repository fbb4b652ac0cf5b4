#include "db/json_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "db/whole_number.h"

namespace mlc::db {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPage = 4096;
constexpr int64_t kVersion = 1;  // of the lines

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Digest> DigestField(const Json& json, const char* key) {
  return Digest::Parse(json.value(key, std::string()));
}

Result<WorkloadRow> WorkloadFrom(const Json& json) {
  WorkloadRow row;
  row.key = MLC_TRY(DigestField(json, "key"));
  row.text = json.value("text", std::string());
  row.summary = json.value("summary", std::string());
  return row;
}

Result<Record> RecordFrom(const Json& json) {
  Record record;
  Measurement& m = record.measurement;
  record.task_uid = MLC_TRY(DigestField(json, "task_uid"));
  record.job_id = MLC_TRY(DigestField(json, "job_id"));
  record.workload = MLC_TRY(DigestField(json, "workload"));
  record.target = json.value("target", std::string());
  record.config = json.value("config", std::string());
  m.outcome = MLC_TRY(ParseOutcome(json.value("outcome", std::string())));
  m.median_ns = json.value("median_ns", 0.0);
  m.p10_ns = json.value("p10_ns", 0.0);
  m.p90_ns = json.value("p90_ns", 0.0);
  m.runs = MLC_TRY(WholeField<int32_t>(json, "runs", 0));
  m.cold_ns = json.value("cold_ns", 0.0);
  m.max_error = json.value("max_error", 0.0);
  m.build_ms = json.value("build_ms", 0.0);
  m.clock_mhz = json.value("clock_mhz", 0.0);
  m.machine_speed = json.value("machine_speed", 0.0);
  m.detail = json.value("detail", std::string());
  record.floor_ns = json.value("floor_ns", 0.0);
  record.toolchain = json.value("toolchain", std::string());
  record.worker = json.value("worker", std::string());
  record.arm = json.value("arm", std::string());
  record.predicted_rank = MLC_TRY(WholeField<int64_t>(json, "predicted_rank", 0));
  record.seed = MLC_TRY(WholeField<uint64_t>(json, "seed", 0));
  record.created_us = MLC_TRY(WholeField<int64_t>(json, "created_us", 0));
  if (MLC_TRY(DigestField(json, "digest")) != DigestOf(record)) {
    return DataLoss("the record's fields do not give its digest");
  }
  return record;
}

Status CheckVersion(const Json& json) {
  const int64_t version = MLC_TRY(WholeField<int64_t>(json, "version", 0));
  if (version == kVersion) return Status();
  if (version == 0) return InvalidArgument("the line does not tell its version");
  return FailedPrecondition("the line is of version " + std::to_string(version) +
                            ", this program reads version " + std::to_string(kVersion) +
                            ": use the mlc-log of the release that wrote it");
}

Status ImportLine(const std::string& line, TuningLog& log, ImportCounts& counts) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  // The library throws for a field of the wrong type; here that is the user's fault.
  try {
    MLC_TRY(CheckVersion(json));
    const std::string kind = json.value("kind", std::string());
    if (kind == "workload") {
      MLC_TRY(log.AddWorkload(MLC_TRY(WorkloadFrom(json))));
      ++counts.workloads;
      return Status();
    }
    if (kind != "record") return InvalidArgument("unknown kind '" + kind + "'");
    const Record record = MLC_TRY(RecordFrom(json));
    const Appended appended = MLC_TRY(AppendAndWait(log, record));
    ++(appended == Appended::kNew ? counts.added : counts.duplicates);
    return Status();
  } catch (const Json::exception& error) {
    return InvalidArgument(error.what());
  }
}

}  // namespace

std::string ToJsonLine(const WorkloadRow& row) {
  Json json;
  json["kind"] = "workload";
  json["version"] = kVersion;
  json["key"] = row.key.ToText();
  json["summary"] = row.summary;
  json["text"] = row.text;
  return Dump(json);
}

std::string ToJsonLine(const Record& record) {
  const Measurement& m = record.measurement;
  Json json;
  json["kind"] = "record";
  json["version"] = kVersion;
  json["task_uid"] = record.task_uid.ToText();
  json["job_id"] = record.job_id.ToText();
  json["workload"] = record.workload.ToText();
  json["target"] = record.target;
  json["config"] = record.config;
  json["outcome"] = ToText(m.outcome);
  json["median_ns"] = m.median_ns;
  json["p10_ns"] = m.p10_ns;
  json["p90_ns"] = m.p90_ns;
  json["runs"] = m.runs;
  json["cold_ns"] = m.cold_ns;
  json["floor_ns"] = record.floor_ns;
  json["max_error"] = m.max_error;
  json["build_ms"] = m.build_ms;
  json["clock_mhz"] = m.clock_mhz;
  json["machine_speed"] = m.machine_speed;
  json["detail"] = m.detail;
  json["toolchain"] = record.toolchain;
  json["worker"] = record.worker;
  json["arm"] = record.arm;
  json["predicted_rank"] = record.predicted_rank;
  json["seed"] = record.seed;
  json["created_us"] = record.created_us;
  json["digest"] = DigestOf(record).ToText();
  return Dump(json);
}

Status Export(const TuningLog& log, std::ostream& out) {
  for (const WorkloadRow& row : MLC_TRY(log.Workloads())) out << ToJsonLine(row) << '\n';
  RecordQuery query;
  query.limit = kPage;
  while (true) {
    const std::vector<Record> page = MLC_TRY(log.List(query));
    for (const Record& record : page) out << ToJsonLine(record) << '\n';
    if (page.empty()) break;
    query.after_id = page.back().id;
  }
  out.flush();
  if (!out) return Status(StatusCode::kAlreadyExists, "cannot write the export");
  return Status();
}

Status ExportToFile(const TuningLog& log, const std::string& to) {
  std::error_code absent;
  const auto there = std::filesystem::symlink_status(to, absent);
  const bool replaced = !exists(there) || is_regular_file(there);
  const std::string written = replaced ? to + ".tmp." + std::to_string(getpid()) : to;
  std::ofstream out(written, std::ios::trunc);
  Status status = Export(log, out);
  out.close();
  if (!replaced) return status.WithPrefix(to);
  if (status.ok() && rename(written.c_str(), to.c_str()) != 0) {
    status = Status(StatusCode::kAlreadyExists, strerror(errno));
  }
  if (!status.ok()) (void)unlink(written.c_str());
  return status.WithPrefix(to);
}

Result<ImportCounts> Import(std::istream& in, TuningLog& log) {
  ImportCounts counts;
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const Status status = ImportLine(line, log, counts);
    if (!status.ok()) return status.WithPrefix("line " + std::to_string(number));
  }
  if (in.bad()) return DataLoss("reading it failed");
  return counts;
}

}  // namespace mlc::db
