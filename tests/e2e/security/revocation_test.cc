// What becomes of connections, streams and programs of those who are locked out.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/rpc/socket.h"
#include "client/service/tuner_client.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "proto/worker.grpc.pb.h"
#include "tests/e2e/security/tls_server.h"

namespace mlc::e2e {
namespace {

using client::TunerClient;
using ::testing::HasSubstr;

// Streams that nobody would ever end else: a job that no worker takes, a worker that makes no call.
TEST_F(SecurityTest, StreamsOfThoseWhoAreLockedOutEnd) {
  for (const char* what : {"submit alice", "submit bob", "work w", "token read ci", "revoke"}) {
    lab_.Make(what);
  }
  Start({"--tls-crl", lab_.path("crl.pem"), "--tokens", lab_.path("tokens")});
  proto::SubmitJobRequest job;
  job.set_protocol(1);
  proto::Task& task = *job.add_tasks();
  task.set_workload(graph::Workload::Parse("workload v1 tolerance=1e-05 {\n%0 = input() : f32[64]\n"
                                           "%1 = add(%0, %0) : f32[64]\nreturn %1\n}\n")
                        ->ToText());
  task.set_occurrences(1);
  job.set_target(target::Target().ToText());
  job.mutable_options()->set_trials(8);
  auto bob = TunerClient::Connect(As("submit-bob"));
  ASSERT_TRUE(bob.ok());
  const auto submitted = bob->Submit(job);
  ASSERT_TRUE(submitted.ok()) << submitted.status().message();

  struct Watch {
    std::latch seen{1};
    std::once_flag once;
    Result<proto::JobProgress> end = Status();
    std::jthread thread;
  };
  const auto watch = [&](Watch& one, const transport::ChannelOptions& who) {
    one.thread = std::jthread([&, who] {
      auto client = TunerClient::Connect(who);
      const auto note = [&](const proto::JobProgress&) {
        std::call_once(one.once, [&] { one.seen.count_down(); });
        return Status();
      };
      one.end = client.ok() ? client->Watch(submitted->job(), note) : client.status();
      std::call_once(one.once, [&] { one.seen.count_down(); });
    });
    one.seen.wait();
  };
  Watch of_alice, of_bob, of_ci;
  watch(of_alice, As("submit-alice"));
  watch(of_bob, As("submit-bob"));
  watch(of_ci, {address_, lab_.tls(""), lab_.path("read-ci.token"), ""});
  const auto worker = transport::Connection::Open(As("work-w"));
  ASSERT_TRUE(worker.ok());
  const auto stub = proto::Workers::NewStub((*worker)->channel());
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  proto::OpenSessionRequest opening;
  opening.set_worker("w");
  opening.set_incarnation("b");
  const auto stream = stub->OpenSession(&context, opening);

  lab_.Make("revoke submit alice");
  lab_.Make("revoke work w");
  std::ofstream(lab_.path("tokens")) << "# nobody\n";
  of_alice.thread.join();
  EXPECT_EQ(of_alice.end.status().code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(of_alice.end.status().message(), HasSubstr("certificate was revoked"));
  of_ci.thread.join();
  EXPECT_EQ(of_ci.end.status().code(), StatusCode::kUnauthenticated);
  EXPECT_THAT(of_ci.end.status().message(), HasSubstr("unknown, or was revoked"));
  proto::Wake wake;
  while (stream->Read(&wake)) continue;
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::UNAUTHENTICATED) << ended.error_message();
  EXPECT_THAT(Words(), HasSubstr("audit: ended /mlc.proto.Tuner/WatchJob of alice"));

  EXPECT_TRUE(bob->Cancel(submitted->job()).ok());
  of_bob.thread.join();
  ASSERT_TRUE(of_bob.end.ok()) << "others are not concerned: " << of_bob.end.status().message();
  EXPECT_EQ(of_bob.end->state(), proto::CANCELLED);
}

// As people and systemd see it.
TEST_F(SecurityTest, ProgramsOfThoseWhoAreLockedOutEnd) {
  for (const char* what : {"submit alice", "read ci", "work w", "revoke"}) lab_.Make(what);
  Start({"--tls-crl", lab_.path("crl.pem")});
  std::ofstream(lab_.path("tiny.onnx"), std::ios::binary) << crash::TinyModel();
  const auto wait_for = [&](const std::string& who, const std::string& text, pid_t process) {
    while (Said(who).find(text) == std::string::npos && crash::Running(process)) usleep(50'000);
    EXPECT_THAT(Said(who), HasSubstr(text));
  };
  const std::string nobodys =
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";
  ASSERT_EQ(crash::Wait(Call("mlc-tune", "submit-alice",
                             {"--model", lab_.path("tiny.onnx"), "--trials", "8", "--target",
                              nobodys, "--detach"})),
            0)
      << Said("submit-alice");
  std::string job = Said("submit-alice");
  job = job.substr(job.find(" watch ") + 7);
  job = job.substr(0, job.find_first_of(" \n"));
  const pid_t watcher = Call("mlc-tune", "read-ci", {"watch", job});
  wait_for("read-ci", "trials", watcher);
  const pid_t worker = Call("mlc-worker", "work-w", {"--name", "w", "-v", "--builders", "1"});
  wait_for("work-w", "connected to", worker);
  lab_.Make("revoke read ci");
  lab_.Make("revoke work w");
  EXPECT_EQ(crash::Wait(watcher), 77) << Said("read-ci");
  EXPECT_THAT(Said("read-ci"), HasSubstr("was revoked"));
  EXPECT_EQ(crash::Wait(worker), 77) << Said("work-w");
  EXPECT_THAT(Said("work-w"), HasSubstr("was revoked"));
}

}  // namespace
}  // namespace mlc::e2e
