#include "server/security/wire_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/measurement.h"
#include "base/wire/protocol.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "tests/support/db/full_record.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

// In slices of a few bytes, so that fields lie across their ends.
grpc::ByteBuffer Wire(const std::string& bytes, size_t piece = 3) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) slices.emplace_back(bytes.substr(at, piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

template <typename Message = proto::SubmitJobRequest>
Result<int64_t> Count(const std::string& bytes, int64_t most = 1'000'000, size_t piece = 3) {
  return CountFields(Wire(bytes, piece), *Message::GetDescriptor(), most);
}

TEST(WireScanTest, CountsTheFieldsOfAllMessagesInside) {
  proto::SubmitJobRequest request;
  request.set_protocol(1);
  for (int i = 0; i < 3; ++i) {
    proto::Task& task = *request.add_tasks();
    task.set_workload("a text");
    task.set_occurrences(300);
    for (int j = 0; j < 16; ++j) task.add_uses(1);
  }
  request.mutable_options()->set_seed(1ull << 63);
  // The protocol; three tasks with two fields, the list of uses and two for its 16 bytes; the
  // options with one.
  EXPECT_EQ(*Count(request.SerializeAsString()), 1 + 3 * (1 + 2 + 1 + 2) + 2);
  EXPECT_EQ(*Count(""), 0);
}

TEST(WireScanTest, EmptyMessagesCount) {
  std::string empty;
  for (int i = 0; i < 5'000; ++i) empty += std::string("\x12\x00", 2);
  EXPECT_EQ(*Count(empty), 5'000);
  const Status status = Count(empty, 4'999).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("more than 4999 fields"));
}

TEST(WireScanTest, FieldsThatNobodyKnowsCount) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += std::string("\xf8\x01\x01", 3);
  EXPECT_EQ(*Count(bytes), 100);
  EXPECT_FALSE(Count(bytes, 99).ok());
}

TEST(WireScanTest, PackedNumbersCountByTheirBytes) {
  proto::SubmitJobRequest request;
  for (int i = 0; i < 80'000; ++i) request.add_tasks()->Clear();
  proto::Task& task = *request.mutable_tasks(0);
  for (int i = 0; i < 80'000; ++i) task.add_uses(1);
  request.mutable_tasks()->DeleteSubrange(1, 79'999);
  EXPECT_EQ(*Count(request.SerializeAsString(), 1'000'000, 4'000), 2 + 10'000);
  EXPECT_FALSE(Count(request.SerializeAsString(), 9'999, 4'000).ok());
}

TEST(WireScanTest, WhatIsNoMessageIsRefused) {
  for (const std::string& bad : {
           std::string("\x12\x05"),                  // shorter than it says
           std::string("\x12\xff\xff\xff\xff\x0f"),  // 4 GiB, it says
           std::string("\x12\x02\x08", 3),           // a field that ends beyond its message
           std::string("\x08"),                      // no number
           std::string("\xfb\x01\xfc\x01"),          // a group
           std::string("\x07"),                      // no type of the wire
           std::string("\x00\x01", 2),               // no field
       }) {
    const Status status = Count(bad).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << testing::PrintToString(bad);
    EXPECT_THAT(status.message(), HasSubstr("is not a mlc.proto.SubmitJobRequest"));
  }
}

TEST(WireScanTest, NestingIsBounded) {
  // `others` of BestConfig are BestConfigs.
  proto::BestConfig best;
  const auto deep = [&](int depth) {
    best.Clear();
    proto::BestConfig* inner = &best;
    for (int i = 0; i < depth; ++i) inner = inner->add_others();
    return Count<proto::BestConfig>(best.SerializeAsString());
  };
  EXPECT_EQ(*deep(16), 16);
  EXPECT_FALSE(deep(17).ok());
}

// What is refused was never parsed; what passes parses to the same.
TEST(WireScanTest, HonestRequestsPass) {
  proto::SynchronizeRequest request;
  request.set_worker("w");
  Measurement measurement;
  measurement.outcome = Outcome::kOk;
  tests::FillEmptyFields(measurement);
  for (int i = 0; i < 8'192; ++i) {
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(std::string(16, 'u'));
    result.set_device_s(0.25);
    *result.mutable_measurement() = ToWire(measurement);
  }
  const auto count = Count<proto::SynchronizeRequest>(request.SerializeAsString(), 200'000, 4'000);
  ASSERT_TRUE(count.ok()) << count.status().ToString();
  const auto fields = static_cast<int64_t>(tests::TextsOf(measurement).size());
  EXPECT_EQ(*count, 1 + 8'192 * (fields + 4)) << "and the result with its three fields";
}

}  // namespace
}  // namespace mlc::server
