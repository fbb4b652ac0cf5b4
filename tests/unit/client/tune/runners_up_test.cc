#include "client/local/runners_up.h"

#include <gtest/gtest.h>

#include "db/record.h"

namespace mlc::client {
namespace {

db::Record Known(const std::string& config, double ns) {
  db::Record record;
  record.config = config;
  record.task_uid = DigestOf(config);
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = ns;
  record.measurement.p10_ns = ns * 0.98;
  record.measurement.p90_ns = ns * 1.02;
  record.measurement.runs = 20;
  return record;
}

HeavyTask Task(const std::string& name, int uses, double ns, int configs) {
  HeavyTask task{DigestOf(name), uses, ns, "f/1 a=0", {}};
  for (int i = 0; i < configs; ++i) {
    task.known.push_back(Known("f/1 a=" + std::to_string(i), ns * (1 + 0.05 * i)));
  }
  return task;
}

TEST(RunnersUpTest, WhatMayGainMostComesFirst) {
  const auto tried = RunnersUp(
      {Task("light", 2, 1000, 3), Task("heavy", 12, 5000, 3), Task("half", 6, 6000, 3)}, 10);
  ASSERT_EQ(tried.size(), 6u);
  EXPECT_EQ(tried[0].workload, DigestOf("heavy"));
  EXPECT_EQ(tried[0].record.config, "f/1 a=1");
  EXPECT_EQ(tried[1].workload, DigestOf("half"));
  EXPECT_EQ(tried[2].workload, DigestOf("heavy"));
  EXPECT_EQ(tried[2].record.config, "f/1 a=2");
  EXPECT_EQ(tried[3].workload, DigestOf("half"));
  EXPECT_EQ(tried[4].workload, DigestOf("light"));
}

TEST(RunnersUpTest, SlowConfigsLightTasksAndMoreThanAskedAreLeftOut) {
  const auto tried = RunnersUp({Task("light", 1, 10, 3), Task("heavy", 12, 5000, 20)}, 100);
  EXPECT_EQ(tried.size(), 6u);
  for (const Substitution& one : tried) EXPECT_EQ(one.workload, DigestOf("heavy"));
  EXPECT_EQ(RunnersUp({Task("heavy", 12, 5000, 20)}, 2).size(), 2u);
  HeavyTask slow{DigestOf("slow"), 1, 100, "f/1 a=0", {Known("f/1 a=1", 140)}};
  EXPECT_TRUE(RunnersUp({slow}, 5).empty());
}

TEST(RunnersUpTest, OneGainOfEachWorkloadLargestFirst) {
  const auto tried = RunnersUp({Task("a", 12, 5000, 3), Task("b", 12, 4000, 3)}, 10);
  ASSERT_EQ(tried.size(), 4u);  // a, b, a, b
  const std::vector<double> quotients = {0.98, 0.999, 0.95, 0.97};
  EXPECT_EQ(Gains(tried, quotients), (std::vector<size_t>{2, 3}));
  const std::vector<double> none = {0.998, 0, 1.2, 1.0};
  EXPECT_TRUE(Gains(tried, none).empty());
}

TEST(RunnersUpTest, WhatIsKeptLeadsInTheLogByWhatTheModelGained) {
  const auto tried = RunnersUp({Task("a", 10, 5000, 2)}, 10);
  ASSERT_EQ(tried.size(), 1u);
  const db::Record record = RecordOf(tried[0], 0.01, DigestOf("job"), 7);  // 1 us a use
  EXPECT_DOUBLE_EQ(record.measurement.median_ns, 4000);
  EXPECT_LE(record.measurement.p10_ns, 4000);
  EXPECT_GE(record.measurement.p90_ns, 4000);
  EXPECT_EQ(record.arm, db::kConfirmationArm);
  EXPECT_EQ(record.job_id, DigestOf("job"));
  EXPECT_NE(record.task_uid, tried[0].record.task_uid);
  EXPECT_NE(record.measurement.detail.find("whole model"), std::string::npos);
  // However large the gain seems, a time stays a time.
  EXPECT_GT(RecordOf(tried[0], 10, DigestOf("job"), 7).measurement.median_ns, 0);
}

TEST(RunnersUpTest, ALockTakesSubstitutions) {
  package::LockFile lock;
  lock.choices[DigestOf("a")] = {
      *schedule::Config::Parse("f/1 a=0"), package::FromRecord{"x"}, 5000, {}};
  lock.choices[DigestOf("b")] = {
      *schedule::Config::Parse("f/1 a=0"), package::FromRecord{"y"}, 5000, {}};
  const auto tried = RunnersUp({Task("a", 10, 5000, 2)}, 10);
  const package::LockFile made = Substituted(lock, tried);
  EXPECT_EQ(made.choices.at(DigestOf("a")).config.ToText(), "f/1 a=1");
  EXPECT_EQ(made.choices.at(DigestOf("b")).config.ToText(), "f/1 a=0");
}

}  // namespace
}  // namespace mlc::client
