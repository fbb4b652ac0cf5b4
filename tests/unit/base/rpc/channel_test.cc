#include "base/rpc/channel.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <stop_token>

#include "base/rpc/call_guard.h"
#include "base/rpc/socket.h"
#include "proto/tuner.grpc.pb.h"
#include "tests/temporary_folder.h"

namespace mlc::transport {
namespace {

std::string Address(const std::string& name) {
  static const tests::TemporaryFolder folder;
  return "unix:" + folder.path(name);
}

std::unique_ptr<Connection> Open(const std::string& address) {
  return *Connection::Open({address, {}, {}, {}});
}

std::unique_ptr<grpc::Server> StartServer(const std::string& address) {
  static proto::Tuner::Service refuses_all;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&refuses_all);
  return builder.BuildAndStart();
}

TEST(ConnectionTest, WaitsAgainAndAgainForAServerThatStartsLater) {
  const std::string address = Address("later");
  const std::unique_ptr<Connection> connection = Open(address);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(connection->Await(1));
  EXPECT_EQ(connection->WaitUntilReady(1).code(), StatusCode::kUnavailable);
  const std::unique_ptr<grpc::Server> server = StartServer(address);
  while (!connection->Await(10)) {
  }
  EXPECT_TRUE(connection->Await(0));
  EXPECT_TRUE(connection->WaitUntilReady(0).ok());
}

TEST(ConnectionTest, ANewOneDoesNotWaitForWhatAnOldOneWaitsFor) {
  const std::string address = Address("anew");
  const std::unique_ptr<Connection> old = Open(address);
  EXPECT_FALSE(old->Await(300)) << "several attempts, the next one is far away";
  const std::unique_ptr<grpc::Server> server = StartServer(address);
  EXPECT_TRUE(Open(address)->Await(60'000));
}

TEST(ConnectionTest, NeedsAnAddress) {
  for (const char* bad : {"", "nowhere", "localhost:65536"}) {
    ChannelOptions options;
    options.address = bad;
    EXPECT_EQ(Connection::Open(options).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(ConnectionTest, EndsWhileItIsNotConnected) {
  const std::string address = Address("silent");
  std::string bound;
  const Result<Descriptor> silent = ListenOn(address, bound);
  ASSERT_TRUE(silent.ok()) << silent.status().ToString();
  EXPECT_FALSE(Open(address)->Await(1)) << "nobody shakes hands";
  EXPECT_FALSE(Open(Address("nobody"))->Await(1));
}

class CallGuardTest : public ::testing::Test {
 protected:
  // A call to somebody who never answers.
  grpc::Status Call(grpc::ClientContext& context) {
    proto::ListJobsReply reply;
    return stub_->ListJobs(&context, {}, &reply);
  }

  std::string bound_;
  const Result<Descriptor> silent_ = ListenOn(Address("unanswered"), bound_);
  const std::unique_ptr<Connection> connection_ = Open(bound_);
  const std::unique_ptr<proto::Tuner::Stub> stub_ = proto::Tuner::NewStub(connection_->channel());
  grpc::ClientContext context_;
};

TEST_F(CallGuardTest, EndsACallThatTakesTooLong) {
  const CallGuard guard(context_, std::chrono::milliseconds(20));
  EXPECT_EQ(Call(context_).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(guard.expired());
}

TEST_F(CallGuardTest, EndsACallThatIsStopped) {
  std::stop_source stop;
  CallGuard guard(context_, std::chrono::hours(1), stop.get_token());
  auto call = std::async(std::launch::async, [&] { return Call(context_).error_code(); });
  guard.Renew();
  stop.request_stop();
  EXPECT_EQ(call.get(), grpc::StatusCode::CANCELLED);
  EXPECT_FALSE(guard.expired());
}

TEST_F(CallGuardTest, EndsACallBeforeItBegins) {
  std::stop_source stop;
  stop.request_stop();
  const CallGuard guard(context_, std::chrono::hours(1), stop.get_token());
  EXPECT_EQ(Call(context_).error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace mlc::transport
