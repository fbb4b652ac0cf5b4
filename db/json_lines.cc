#include "db/json_lines.h"

#include <unistd.h>

#include <cerrno>
#include <concepts>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "db/record_fields.h"
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

Status Read(const Json& json, const char* key, Digest& value) {
  value = MLC_TRY(DigestField(json, key));
  return Status();
}

Status Read(const Json& json, const char* key, Outcome& value) {
  value = MLC_TRY(ParseOutcome(json.value(key, std::string())));
  return Status();
}

// Of numbers and texts: nothing where the line lacks the key.
template <typename T>
Status Read(const Json& json, const char* key, T& value) {
  if constexpr (std::integral<T>) {
    value = MLC_TRY(WholeField<T>(json, key, T()));
  } else {
    value = json.value(key, T());
  }
  return Status();
}

Json ToJson(const Digest& value) { return value.ToText(); }
Json ToJson(Outcome value) { return ToText(value); }
template <typename T>
Json ToJson(const T& value) {
  return value;
}

Result<Record> RecordFrom(const Json& json) {
  Record record;
  Status status;
  VisitFields(record, [&](const FieldInfo& field, auto& value) {
    if (status.ok()) status = Read(json, std::string(field.name).c_str(), value);
  });
  MLC_TRY(status);
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
  Json json;
  json["kind"] = "record";
  json["version"] = kVersion;
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    if (!IsAbsent(field, value)) json[std::string(field.name)] = ToJson(value);
  });
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
  if (!out) return Unwritable("cannot write the export");
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
    status = Unwritable(strerror(errno));
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
