// A whole server over a Unix socket.
#include "server/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/wire/protocol.h"
#include "server/api/services.h"
#include "tests/unit/server/health.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

class ServerTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override {
    GTEST_SKIP() << "gRPC's own locks are not instrumented; the tuner's tests run without it";
  }
#endif
  ServerTest() : folder_(::testing::TempDir() + "/mlc-server-test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ServerTest() override { std::filesystem::remove_all(folder_); }

  ServerOptions Options(const std::string& listen) {
    ServerOptions options;
    options.log = folder_ + "/tuning.db";
    options.endpoint.listen = listen;
    options.tuner.strategy = [](SearchInput input) {
      return std::make_unique<FakeStrategy>(std::move(input), 1000,
                                            std::make_shared<std::string>());
    };
    options.tuner.logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    return options;
  }

  // One worker's life: runs trials until told to drain or `stop`.
  static int64_t Work(const std::string& address, const std::atomic<bool>& stop) {
    auto stub =
        proto::Workers::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    proto::SynchronizeRequest request;
    request.set_protocol(kWireProtocol);
    request.set_worker("w");
    request.mutable_device_use()->set_trial_s(4);
    request.mutable_device_use()->set_busy_s(3);
    request.set_incarnation("b");
    request.set_target(target::Target().ToText());
    request.set_want(4);
    int64_t acknowledged = 0;
    while (!stop) {
      grpc::ClientContext context;
      proto::SynchronizeReply reply;
      const grpc::Status status = stub->Synchronize(&context, request, &reply);
      if (!status.ok()) break;
      acknowledged += reply.acknowledged_size();
      request.clear_finished();
      for (const proto::Lease& lease : reply.leases()) {
        proto::TrialResult& result = *request.add_finished();
        result.set_task_uid(lease.task_uid());
        *result.mutable_measurement() =
            ToWire(FakeMeasurement((*schedule::Config::Parse(lease.config()))["x"]));
      }
      if (reply.drain() && request.finished_size() == 0) break;
    }
    return acknowledged;
  }

  std::string folder_;
};

TEST_F(ServerTest, ServesAJobOverAUnixSocket) {
  auto server = Server::Start(Options("unix:" + folder_ + "/socket"));
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  std::atomic<bool> stop = false;
  std::jthread worker([&] { Work((*server)->address(), stop); });
  auto stub = proto::Tuner::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  proto::SubmitJobRequest request;
  request.set_protocol(kWireProtocol);
  proto::Task& task = *request.add_tasks();
  task.set_workload(MakeWorkload(8).ToText());
  task.set_occurrences(1);
  request.set_target(target::Target().ToText());
  request.mutable_options()->set_trials(50);
  proto::SubmitJobReply reply;
  grpc::ClientContext submit;
  ASSERT_TRUE(stub->SubmitJob(&submit, request, &reply).ok());
  grpc::ClientContext watch;
  proto::WatchJobRequest watched;
  watched.set_job(reply.job());
  auto reader = stub->WatchJob(&watch, watched);
  proto::JobProgress progress;
  while (reader->Read(&progress)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(progress.state(), proto::DONE);
  EXPECT_EQ(progress.trials(), 50);
  EXPECT_EQ(progress.workers(), 1);
  EXPECT_DOUBLE_EQ(progress.gpu_busy(), 0.75);
  grpc::ClientContext list;
  proto::ListJobsReply jobs;
  EXPECT_TRUE(stub->ListJobs(&list, {}, &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 1);
  (*server)->Stop(1000);
}

TEST_F(ServerTest, ErrorsKeepTheirCodeAndWords) {
  auto server = Server::Start(Options("unix:" + folder_ + "/socket"));
  auto stub = proto::Tuner::NewStub(
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  proto::WatchJobRequest request;
  request.set_job("00");
  proto::JobProgress progress;
  auto reader = stub->WatchJob(&context, request);
  EXPECT_FALSE(reader->Read(&progress));
  EXPECT_EQ(FromGrpc(reader->Finish()).code(), StatusCode::kNotFound);
}

TEST_F(ServerTest, ListensLocallyOnly) {
  EXPECT_EQ(Server::Start(Options("0.0.0.0:0")).status().code(), StatusCode::kInvalidArgument);
  auto server = Server::Start(Options("127.0.0.1:0"));
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  EXPECT_THAT((*server)->address(), ::testing::MatchesRegex("127.0.0.1:[1-9][0-9]*"));
}

// Of quotas; tokens and revocations go the same way.
TEST_F(ServerTest, HealthTellsOfAFileThatCannotBeUsed) {
  ServerOptions options = Options("unix:" + folder_ + "/socket");
  options.quotas = folder_ + "/quotas.json";
  const auto metrics = options.tuner.metrics;
  const auto write = [&](const std::string& text) { std::ofstream(options.quotas) << text; };
  write("{}");
  auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const auto channel =
      grpc::CreateChannel((*server)->address(), grpc::InsecureChannelCredentials());
  const auto await = [&](int health) {
    while (HealthOf(channel, "mlc.files") != health) std::this_thread::yield();
  };
  await(1);
  write("{\"default\": ");
  await(2);
  EXPECT_EQ(HealthOf(channel, "mlc.proto.Tuner"), 1) << "the old ones serve on";
  EXPECT_THAT(metrics->Text(),
              ::testing::HasSubstr("mlc_server_watched_file_invalid{file=\"quotas\"} 1"));
  write("{\"default\": {}}");
  await(1);
}

TEST_F(ServerTest, TheSecondServerOfALogIsRefused) {
  auto first = Server::Start(Options("unix:" + folder_ + "/a"));
  ASSERT_TRUE(first.ok());
  auto second = Server::Start(Options("unix:" + folder_ + "/b"));
  EXPECT_EQ(second.status().code(), StatusCode::kAborted);
  EXPECT_THAT(second.status().message(), ::testing::HasSubstr("another mlc-server uses this log"));
}

}  // namespace
}  // namespace mlc::server
