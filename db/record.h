// What the tuning log stores, as values. Every record names everything that shaped it and carries a
// digest over all of its fields, so that a flipped bit in a file of years is found when it is read.
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
  double floor_ns = 0;         // no honest time is below it; 0 when unknown
  std::string toolchain;       // build id of the compiler that made the kernel
  std::string worker;          // who measured
  std::string arm;             // why the search tried it, one word
  int64_t predicted_rank = 0;  // 1 = predicted fastest of its candidates; 0 = not ranked
  uint64_t seed = 0;           // of the trial's random inputs
  int64_t created_us = 0;      // microseconds since 1970, server's clock
  int64_t id = 0;              // the log's order; assigned by the log, not part of the digest
};

// "contraction" and 1 of "contraction/1 mr=14": INVALID_ARGUMENT if the text does not start so.
struct FamilyVersion {
  std::string family;
  int version = 0;
};
Result<FamilyVersion> FamilyOf(const std::string& config);

// Over every field but id, in a canonical text form.
Digest DigestOf(const Record& record);

// INVALID_ARGUMENT that names the first field that breaks the schema's rules: what it takes, the
// log takes. Stricter than the schema where that could not tell (a failure's time, say, which it
// does not keep): numbers are finite, a correct time has a p10 above 0, and a config is printable.
Status Validate(const Record& record);

enum class JobState : uint8_t { kRunning = 0, kDone = 1, kCancelled = 2, kFailed = 3 };
// "running", "done", "cancelled", "failed".
std::string_view ToText(JobState state);

struct JobTask {
  Digest workload;
  int32_t occurrences = 1;
  std::string label;
};

// One user's request. `options` is text that only the server interprets.
struct JobRow {
  Digest id;           // equal requests have equal ids
  std::string label;   // the model's name, for people
  std::string target;  // full target text
  std::string options;
  JobState state = JobState::kRunning;
  int64_t trials = 0;     // learned so far
  int64_t watermark = 0;  // the log's last record id when the job began: its prior knowledge
  std::string detail;     // why it failed
  int64_t created_us = 0;
  std::string owner;       // who asked; empty when unknown
  int32_t priority = 0;    // among the owner's jobs: the higher, the sooner
  int64_t spent_ms = 0;    // of the time budget, before the last restart of the server
  int64_t changed_us = 0;  // when the row was last written
  std::string progress;    // the last that was known of its tasks; text of the server alone
  Digest base;             // the id of such requests that are not fresh: its own or another
  int32_t crashes = 0;     // of the server while it computed for the job
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

// What an administrator set for a worker, until an administrator changes it.
struct AdminHold {
  std::string worker;
  std::string quarantine;   // why it gets no work; empty: no administrator put it into quarantine
  std::string drain;        // why it drains; empty: it does not
  std::string incarnation;  // the incarnation that drains
  int64_t changed_us = 0;
};

// The arm of records that measure a leader again, side by side with others (see confirmed_best.h).
inline constexpr char kConfirmationArm[] = "verify";
bool IsConfirmation(const Record& record);

}  // namespace mlc::db
