#include "client/progress/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/state/state_json.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 1'700'000'000'000'000;

proto::ListJobsReply TwoJobs() {
  proto::ListJobsReply jobs;
  proto::JobSummary& first = *jobs.add_jobs();
  first.set_job("beef0000000000000000000000000001");
  first.set_label("resnet50.onnx");
  first.set_owner("ada");
  first.set_priority(5);
  first.set_trials(12);
  first.set_trials_wanted(2000);
  first.set_created_us(kNow - 90'000'000);
  first.set_detail("waits for a worker");
  proto::JobSummary& second = *jobs.add_jobs();
  second.set_job("beef0000000000000000000000000002");
  second.set_state(proto::DONE);
  second.set_label("bert.onnx");
  second.set_trials(100);
  second.set_trials_wanted(100);
  second.set_created_us(kNow - 3 * 86'400'000'000);
  return jobs;
}

TEST(JobListTest, ATableHasTheNewestLast) {
  EXPECT_EQ(JobsTable(TwoJobs(), kNow),
            "JOB           STATE    OWNER  PRIORITY  TRIALS   AGE  MODEL\n"
            "beef00000000  done     -      0         100/100  3d   bert.onnx\n"
            "beef00000000  running  ada    5         12/2000  1m   resnet50.onnx  "
            "(waits for a worker)\n");
  EXPECT_EQ(JobsTable({}, kNow), "JOB  STATE  OWNER  PRIORITY  TRIALS  AGE  MODEL\n");
}

TEST(JobListTest, JsonHasEveryField) {
  const auto json = nlohmann::json::parse(server::JobsJson(TwoJobs()));
  EXPECT_EQ(json["schema"], "mlc.jobs/1");
  ASSERT_EQ(json["jobs"].size(), 2u);
  EXPECT_EQ(json["jobs"][0]["job"], "beef0000000000000000000000000001");
  EXPECT_EQ(json["jobs"][0]["state"], "running");
  EXPECT_EQ(json["jobs"][0]["owner"], "ada");
  EXPECT_EQ(json["jobs"][0]["priority"], 5);
  EXPECT_EQ(json["jobs"][1]["trials_wanted"], 100);
}

TEST(JobListTest, AJobIsFoundByItsFirstDigits) {
  proto::ListJobsReply jobs = TwoJobs();
  jobs.add_jobs()->set_job("cafe0000000000000000000000000003");
  EXPECT_EQ(*FindJob(jobs, "cafe"), "cafe0000000000000000000000000003");
  EXPECT_EQ(*FindJob(jobs, jobs.jobs(0).job()), jobs.jobs(0).job());
  const std::string old = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(*FindJob(jobs, old), old) << "the server may know it";
  EXPECT_THAT(FindJob(jobs, "beef").status().message(), HasSubstr("several jobs begin with beef"));
  EXPECT_EQ(FindJob(jobs, "dead").status().code(), StatusCode::kNotFound);
  for (const char* bad : {"", "caf", "CAFE", "x'; --", "cafe00000000000000000000000000030"}) {
    EXPECT_EQ(FindJob(jobs, bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace mlc::client
