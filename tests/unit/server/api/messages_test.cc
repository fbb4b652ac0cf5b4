#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "base/wire/protocol.h"
#include "server/api/job_messages.h"
#include "server/api/worker_messages.h"

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Digest kOne{1, 2}, kTwo{3, 4};

TEST(MessagesTest, ASubmissionCountsTheBytesOfItsMessage) {
  proto::SubmitUserKernelRequest request;
  request.mutable_job()->set_target("target");
  request.mutable_kernel()->set_source(std::string(1000, 'x'));
  request.mutable_kernel()->set_blocks_z(3);
  const auto bytes = static_cast<int64_t>(request.ByteSizeLong());
  const KernelSubmission submission = FromWire(std::move(request));
  EXPECT_EQ(submission.job.bytes, bytes) << "the kernel's among them";
  EXPECT_EQ(submission.job.target, "target");
  EXPECT_EQ(submission.kernel.source.size(), 1000u);
  EXPECT_EQ(submission.kernel.grid.z, 3);
}

TEST(MessagesTest, IdsThatAreNoTrialsAreLeftOutOfACall) {
  proto::SynchronizeRequest request;
  request.add_holding("short");
  request.add_holding(ToWire(kOne));
  request.add_finished()->set_task_uid("also short");
  proto::TrialResult& result = *request.add_finished();
  result.set_task_uid(ToWire(kTwo));
  result.set_device_s(-1);
  std::vector<std::string> malformed;
  const WorkerCall call = FromWire(std::move(request), malformed);
  EXPECT_THAT(malformed, ElementsAre("also short"));
  EXPECT_THAT(call.holding, ElementsAre(kOne));
  ASSERT_EQ(call.finished.size(), 1u);
  EXPECT_EQ(call.finished[0].uid, kTwo);
  EXPECT_EQ(call.finished[0].measurement.outcome, Outcome::kInfra) << "none was sent";
  EXPECT_FALSE(call.finished[0].device_s) << "no device gives time back";
}

TEST(MessagesTest, AWorkloadWithoutARecordHasNoMeasurement) {
  BestAnswer answer;
  answer.best.resize(2);
  answer.best[0].similar = {0};
  answer.best[1].best.config = "fake/1 x=1";
  answer.best[1].best.measurement.outcome = Outcome::kOk;
  answer.best[1].best.record = kOne;
  SimilarConfigs& similar = answer.similar.emplace_back();
  similar.best.push_back({"fake/1 x=2", {}, kTwo});
  similar.best[0].measurement.outcome = Outcome::kOk;
  similar.best[0].measurement.median_ns = 7;
  const proto::BestReply wire = ToWire(std::move(answer));
  EXPECT_FALSE(wire.best(0).has_measurement());
  EXPECT_THAT(wire.best(0).record(), IsEmpty());
  EXPECT_THAT(wire.best(0).similar_workloads(), ElementsAre(0));
  EXPECT_TRUE(wire.best(1).has_measurement());
  EXPECT_EQ(wire.best(1).record(), ToWire(kOne));
  proto::Measurement only;
  only.set_outcome(proto::OK);
  only.set_median_ns(7);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      wire.similar_workloads(0).best(0).measurement(), only));
}

// Servers before and after this one read each other's rows.
TEST(MessagesTest, ProgressInTheLogIsTheJsonOfItsMessage) {
  JobProgress progress;
  progress.detail = "waits for \"x\" <y>";
  progress.trials = 12;
  progress.replayed = 2;
  progress.tasks.resize(2);
  progress.tasks[1] = {3, 1.5, 2, "fake/1 x=1", true, "fake/1 x=2", 0.1};
  progress.outcomes = {1, 0, 2};
  progress.elapsed_s = 1.0 / 3;
  progress.target = "target v1";
  proto::JobProgress read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ProgressText(progress), &read).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(read, ToWire(JobProgress(progress))));
  std::string earlier;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(read, &earlier).ok());
  db::JobRow row;
  row.progress = earlier;
  row.tasks.resize(2);
  EXPECT_EQ(ProgressText(ProgressFrom(row)), ProgressText(progress)) << earlier;
}

}  // namespace
}  // namespace mlc::server
