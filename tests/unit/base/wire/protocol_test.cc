#include "base/wire/protocol.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "base/wire/grpc_status.h"
#include "tests/support/db/full_record.h"

namespace mlc::server {
namespace {

Measurement Full() {
  Measurement measurement;
  measurement.outcome = Outcome::kWrongResult;
  tests::FillEmptyFields(measurement);
  return measurement;
}

TEST(ProtocolTest, TheMessageOfAMeasurementHasTheFieldsOfTheTable) {
  std::vector<std::string> names;
  const Measurement measurement;
  VisitFields(measurement,
              [&](const FieldInfo& field, const auto&) { names.emplace_back(field.name); });
  const auto& message = *proto::Measurement::descriptor();
  std::vector<std::string> found;
  for (int i = 0; i < message.field_count(); ++i) found.push_back(message.field(i)->name());
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(names));
}

TEST(ProtocolTest, EachFieldOfAMeasurementCrossesTheWire) {
  const Measurement sent = Full();
  proto::Measurement wire;
  ASSERT_TRUE(wire.ParseFromString(ToWire(sent).SerializeAsString()));
  EXPECT_EQ(wire.median_ns(), sent.median_ns);
  EXPECT_EQ(wire.outcome(), proto::WRONG_RESULT);
  EXPECT_EQ(tests::TextsOf(FromWire(wire)), tests::TextsOf(sent));
}

TEST(ProtocolTest, AMissingOrUnknownOutcomeIsInfra) {
  proto::Measurement wire;
  EXPECT_EQ(FromWire(wire).outcome, Outcome::kInfra);
  wire.set_outcome(proto::OK);
  EXPECT_EQ(FromWire(wire).outcome, Outcome::kOk);
  for (const int number : {-1, 8, 1 << 20}) {
    wire.set_outcome(static_cast<proto::Outcome>(number));
    EXPECT_EQ(FromWire(wire).outcome, Outcome::kInfra) << number;
  }
}

TEST(ProtocolTest, AnOverLongDetailIsCut) {
  proto::Measurement wire;
  wire.set_detail(std::string(20'000, 'x'));
  EXPECT_EQ(FromWire(wire).detail.size(), 16'384u);
}

TEST(GrpcStatusTest, AnOutputThatCannotBeWrittenIsAnInternalErrorOfTheService) {
  const grpc::Status sent = ToGrpc(Unwritable("cannot write 'a'"));
  EXPECT_EQ(sent.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(FromGrpc(sent), Internal("cannot write 'a'"));
}

}  // namespace
}  // namespace mlc::server
