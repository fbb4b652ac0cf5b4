#include "worker/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::worker {
namespace {

using ::testing::HasSubstr;

TEST(DoctorTest, SaysWhyTheServerCannotBeReached) {
  transport::ChannelOptions server;
  server.address = "127.0.0.1:1";
  Diagnosis diagnosis = DiagnoseServer(server);
  EXPECT_FALSE(diagnosis.usable);
  EXPECT_THAT(diagnosis.report, HasSubstr("FAIL  server: no mlc-server answers at 127.0.0.1:1"));
  server.tls.authority = ::testing::TempDir() + "/there-is-no-authority.pem";
  diagnosis = DiagnoseServer(server);
  EXPECT_FALSE(diagnosis.usable);
  EXPECT_THAT(diagnosis.report, HasSubstr("there-is-no-authority.pem"));
}

}  // namespace
}  // namespace mlc::worker
