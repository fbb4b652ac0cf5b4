// Logs that know times, for tests of what a build takes from them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/graph/workload.h"
#include "compiler/schedule/space/config.h"
#include "compiler/target/target.h"
#include "db/tuning_log.h"

namespace mlc::client {

// Adds a correct trial of the config; `count` tells it from the others, and is when it was made.
inline void AddTime(db::TuningLog& log, const graph::Workload& workload,
                    const target::Target& target, const schedule::Config& config, double ns,
                    const std::string& arm, int count) {
  ASSERT_TRUE(log.AddWorkload({workload.digest(), workload.ToText(), ""}).ok());
  db::Record record;
  record.task_uid = DigestOf("record " + std::to_string(count));
  record.workload = workload.digest();
  record.target = target.ClassText();
  record.config = config.ToText();
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = record.measurement.p10_ns = record.measurement.p90_ns = ns;
  record.measurement.runs = 9;
  record.arm = arm;
  record.created_us = count;
  ASSERT_TRUE(AppendAndWait(log, record).ok());
}

}  // namespace mlc::client
