// The data of a report about one job, read from the log: tasks, their records, and the configs
// before and after tuning. Plain values; the functions only read the log. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "costmodel/roofline.h"
#include "db/record.h"
#include "db/tuning_log.h"

namespace mlc::report {

struct TaskData {
  db::JobTask task;
  std::string summary;                    // one line of the log
  std::vector<int64_t> uses;              // executions in each variant of the model
  std::optional<graph::Workload> parsed;  // empty if this program cannot read it
  costmodel::RooflineInput work;
  double roofline_ns = 0;  // 0: unknown
  // All records of the workload on the job's target class, of any job, in the log's order.
  std::vector<db::Record> records;
  int64_t outdated = 0;  // further records, of kernels that this program no longer generates
  std::optional<db::Record> before;  // the default config, else the first correct record
  std::optional<db::Record> chosen;  // the record that mlc-compile uses
  // Time of `before`, weighed as in LatencyCurve, so that both show the same gain; 0: unknown.
  double before_ns = 0;

  double BeforeNs() const { return before_ns; }
  double BestNs() const { return chosen ? chosen->measurement.median_ns : 0; }
};

struct VariantData {
  std::string name;    // empty if the model has one variant
  double best_ns = 0;  // 0 if one of its tasks has no correct record
};

struct TuningData {
  std::string log;  // path
  db::JobRow job;
  bool fresh = false;  // the job ignored earlier jobs
  target::Target target;
  std::vector<TaskData> tasks;
  std::vector<VariantData> variants;  // at least one
  size_t fastest = 0;                 // the variant that mlc-compile builds
  double before_ns = 0;               // of the default variant, the first; 0: unknown

  double best_ns() const { return variants[fastest].best_ns; }
  // True for the job's own records.
  bool IsOwn(const db::Record& record) const { return record.job_id == job.id; }
  // The share of the model's time, 0 .. 1; 0 if unknown.
  double ShareAfter(const TaskData& task) const;
  double ShareBefore(const TaskData& task) const;
};

// Selects a job: by an id or its first digits, or the newest job of a model by the path that
// mlc-log stats shows or its last part. If both are empty, the newest job of the log.
struct JobChoice {
  std::string job;
  std::string model;
};

// NOT_FOUND if there is no such job or it has no record, INVALID_ARGUMENT if several ids begin with
// these digits; errors of the log.
Result<TuningData> ReadTuning(const db::TuningLog& log, const JobChoice& choice);

}  // namespace mlc::report
