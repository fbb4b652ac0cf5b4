// Who may call what.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "base/rpc/socket.h"
#include "client/service/tuner_client.h"
#include "compiler/target/target.h"
#include "proto/worker.grpc.pb.h"
#include "tests/e2e/security/tls_server.h"

namespace mlc::e2e {
namespace {

using client::TunerClient;
using ::testing::HasSubstr;

TEST_F(SecurityTest, RolesHoldOverTheWire) {
  for (const char* who : {"read x", "submit alice", "work w"}) lab_.Make(who);
  Start();
  proto::SubmitJobRequest job;
  job.set_protocol(1);
  auto reader = TunerClient::Connect(As("read-x"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->Submit(job).status().code(), StatusCode::kPermissionDenied);
  auto submitter = TunerClient::Connect(As("submit-alice"));
  ASSERT_TRUE(submitter.ok());
  EXPECT_EQ(submitter->Submit(job).status().code(), StatusCode::kInvalidArgument);
  const Status code = submitter->SubmitUserKernel({}).status();
  EXPECT_EQ(code.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(code.message(), HasSubstr("submit alice may not call"));
  EXPECT_THAT(code.message(), HasSubstr("requires the role admin"));
  const auto refused = [&](int protocol) {
    job.set_protocol(protocol);
    const Status status = submitter->Submit(job).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    return status.message();
  };
  EXPECT_THAT(refused(2), HasSubstr("upgrade mlc-server"));
  EXPECT_THAT(refused(0), HasSubstr("upgrade mlc-tune"));

  const auto connection = transport::Connection::Open(As("work-w"));
  ASSERT_TRUE(connection.ok());
  const auto stub = proto::Workers::NewStub((*connection)->channel());
  const auto synchronize = [&](const std::string& name, int protocol) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    proto::SynchronizeRequest request;
    request.set_protocol(protocol);
    request.set_worker(name);
    request.set_incarnation("b");
    request.set_target(target::Target().ToText());
    proto::SynchronizeReply reply;
    return stub->Synchronize(&context, request, &reply);
  };
  EXPECT_TRUE(synchronize("w-cpu", 1).ok());
  EXPECT_EQ(synchronize("v", 1).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(synchronize("w", 2).error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(synchronize("w", 2).error_message(), HasSubstr("upgrade mlc-server"));
  EXPECT_THAT(synchronize("w", 0).error_message(), HasSubstr("upgrade mlc-worker"));
  EXPECT_THAT(Words(), HasSubstr("audit: refused /mlc.proto.Tuner/SubmitJob to read x"));
}

// The exit code that scripts see, and words that name the role or the certificate.
TEST_F(SecurityTest, ABuildThatMayNotAskEndsWithPermissionDenied) {
  for (const char* what : {"work w", "read ci", "revoke"}) lab_.Make(what);
  Start({"--tls-crl", lab_.path("crl.pem")});
  std::ofstream(lab_.path("tiny.onnx"), std::ios::binary) << crash::TinyModel();
  const auto compile = [&](const std::string& who) {
    return crash::Wait(
        Call("mlc-compile", who, {"--model", lab_.path("tiny.onnx"), "-o", lab_.path("tiny")}));
  };
  EXPECT_EQ(compile("work-w"), 77) << Said("work-w");
  EXPECT_THAT(Said("work-w"), HasSubstr("role read"));
  EXPECT_EQ(compile("read-ci"), 0) << Said("read-ci");
  lab_.Make("revoke read ci");
  ASSERT_EQ(kill(server_, SIGHUP), 0);
  // The list is read while the server answers.
  int code = 0;
  for (int tries = 0; code == 0 && tries < 100; ++tries) code = compile("read-ci");
  EXPECT_EQ(code, 77) << Said("read-ci");
  EXPECT_THAT(Said("read-ci"), HasSubstr("was revoked"));
}

// Code for workers to run: from administrators alone, as scripts see it.
TEST_F(SecurityTest, OnlyAdministratorsSubmitUserKernels) {
  for (const char* what : {"submit alice", "admin root"}) lab_.Make(what);
  Start();
  std::ofstream(lab_.path("k.cu"))
      << "extern \"C\" __global__ void k(const float* a, float* b) {}\n";
  std::ofstream(lab_.path("w.txt"))
      << "workload v1 tolerance=1e-05 {\n%0 = input() : f32[64]\n%1 = add(%0, %0) : f32[64]\n"
         "return %1\n}\n";
  const auto submit = [&](const std::string& who) {
    return crash::Wait(Call(
        "mlc-tune", who,
        {"--cuda-kernel", lab_.path("k.cu"), "--workload", lab_.path("w.txt"), "--entry", "k",
         "--grid", "1", "--block", "64", "--target",
         "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560", "--detach"}));
  };
  EXPECT_EQ(submit("submit-alice"), 77) << Said("submit-alice");
  EXPECT_THAT(Said("submit-alice"), HasSubstr("requires the role admin"));
  EXPECT_EQ(submit("admin-root"), 0) << Said("admin-root");
  EXPECT_THAT(Said("admin-root"), HasSubstr("goes on at the server"));
  EXPECT_THAT(Words(),
              HasSubstr("audit: refused /mlc.proto.Tuner/SubmitUserKernel to submit alice"));
}

}  // namespace
}  // namespace mlc::e2e
