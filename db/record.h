// The values that the tuning log stores. The digest of a record covers all its fields, so that
// readers detect a flipped bit. Values; thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/measurement.h"
#include "base/status.h"

namespace mlc::db {

struct WorkloadRow {
  Digest key;           // digest of `text`
  std::string text;     // canonical workload text
  std::string summary;  // one line for people
  int64_t id = 0;       // the log's order; assigned by the log
};

// One trial. Infrastructure failures never become records.
struct Record {
  Digest task_uid;     // digest of job id, workload, target, config and measurement protocol
  Digest job_id;       // the job that asked for the trial; zero when imported from elsewhere
  Digest workload;     // key of a WorkloadRow
  std::string target;  // class text of the target
  std::string config;  // canonical config text; starts with "family/version"
  Measurement measurement;
  double floor_ns = 0;         // lower bound of any correct time; 0 when unknown
  std::string toolchain;       // build id of the compiler that made the kernel
  std::string worker;          // name of the worker that measured
  std::string arm;             // arm of the search that proposed it, one word
  int64_t predicted_rank = 0;  // 1 = predicted fastest of its candidates; 0 = not ranked
  uint64_t seed = 0;           // of the trial's random inputs
  int64_t created_us = 0;      // microseconds since 1970, server's clock
  int64_t id = 0;              // the log's order; assigned by the log, not part of the digest
};

// The family and version that a config starts with: "contraction" and 1 of "contraction/1 mr=14".
// INVALID_ARGUMENT if the text does not start so.
struct FamilyVersion {
  std::string family;
  int version = 0;
};
Result<FamilyVersion> FamilyOf(const std::string& config);

// The digest over every field except id, in a canonical text form.
Digest DigestOf(const Record& record);

// INVALID_ARGUMENT that names the first field that breaks a rule of the schema. The log accepts
// every record that passes. It is stricter than the schema for fields that the schema does not
// check, such as the time of a failure: numbers are finite, the p10 of a correct time is above 0,
// and a config is printable.
Status Validate(const Record& record);

enum class JobState : uint8_t { kRunning = 0, kDone = 1, kCancelled = 2, kFailed = 3 };
// "running", "done", "cancelled", "failed".
std::string_view ToText(JobState state);

struct JobTask {
  Digest workload;
  int32_t occurrences = 1;
  std::string label;
};

// One user's request. `options` is text of the server; a report reads the variants in it.
struct JobRow {
  Digest id;           // equal requests have equal ids
  std::string label;   // the model's name, for people
  std::string target;  // full target text
  std::string options;
  JobState state = JobState::kRunning;
  int64_t trials = 0;     // learned so far
  int64_t watermark = 0;  // id of the last record when the job began; it uses no later ones
  std::string detail;     // why it failed
  int64_t created_us = 0;
  std::string owner;       // who asked; empty when unknown
  int32_t priority = 0;    // among the owner's jobs; higher goes first
  int64_t spent_ms = 0;    // part of the time budget used before the last restart
  int64_t changed_us = 0;  // when the row was last written
  std::string progress;    // last known state of its tasks; only the server reads it
  Digest base;             // id of the same request without --fresh; its own if it is none
  int32_t crashes = 0;     // how often the server crashed while it computed for the job
  std::vector<JobTask> tasks;
};

// A cost model that a job saved for the next ones.
struct ModelRow {
  std::string family;  // or "*" for a model over all families
  std::string target;  // class text
  Digest features;     // schema of the features it reads: models of another schema are not loaded
  std::string bytes;
  int64_t created_us = 0;
  int64_t id = 0;  // the log's order; assigned by the log
};

// A quarantine or drain that an administrator set for a worker; it stays until an administrator
// changes it.
struct AdminHold {
  std::string worker;
  std::string quarantine;   // reason of the quarantine; empty: none
  std::string drain;        // reason of the drain; empty: none
  std::string incarnation;  // the incarnation that drains
  int64_t changed_us = 0;
};

// The arm of confirmations: records that measure a leader again, side by side with others (see
// confirmed_best.h).
inline constexpr char kConfirmationArm[] = "verify";
bool IsConfirmation(const Record& record);

}  // namespace mlc::db
