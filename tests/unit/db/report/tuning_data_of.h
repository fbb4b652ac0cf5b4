// Made-up data of a job, for tests of what is computed from it.
#pragma once

#include <string>

#include "db/report/tuning_data.h"

namespace mlc::report {

inline db::Record CorrectRecord(int64_t id, const std::string& config, double ns,
                                const std::string& arm = "model") {
  db::Record record;
  record.id = id;
  record.job_id = {1, 1};
  record.config = config;
  record.arm = arm;
  record.created_us = id * 1'000'000;
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = ns;
  return record;
}

// One task, executed `uses` times, and one variant.
inline TuningData DataOf(std::vector<db::Record> records, int64_t uses = 1) {
  TuningData data;
  data.job.id = data.job.base = {1, 1};
  TaskData task;
  task.uses = {uses};
  task.records = std::move(records);
  for (const db::Record& record : task.records) {
    const bool correct = record.measurement.outcome == Outcome::kOk;
    if (correct && !task.before) task.before = record;
    const bool faster =
        !task.chosen || record.measurement.median_ns < task.chosen->measurement.median_ns;
    if (correct && faster) task.chosen = record;
  }
  data.variants = {VariantData{"", static_cast<double>(uses) * task.BestNs()}};
  data.before_ns = static_cast<double>(uses) * task.BeforeNs();
  data.tasks = {std::move(task)};
  return data;
}

}  // namespace mlc::report
