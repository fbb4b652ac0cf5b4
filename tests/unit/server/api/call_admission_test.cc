#include "server/api/call_admission.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/wire/grpc_status.h"
#include "proto/worker.grpc.pb.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

// Of a caller who is revoked after access control has passed the call.
class RevokedAccess : public OpenAccess {
 public:
  Result<Caller> CallerOf(const grpc::ServerContextBase&) const override {
    return Status(StatusCode::kUnauthenticated, "the certificate was revoked");
  }
};

// Takes a unary call and a stream, and answers both.
using Raw = proto::Workers::WithRawCallbackMethod_ListWorkers<
    proto::Workers::WithRawCallbackMethod_OpenSession<proto::Workers::Service>>;
class Service : public Raw {
 public:
  Service(const AccessControl& access, CallLoad& load) : admission_(access, load, SystemClock()) {}

  grpc::ServerUnaryReactor* ListWorkers(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* wire,
                                        grpc::ByteBuffer* reply) override {
    return admission_.Take<proto::ListWorkersRequest>(
        context, "/mlc.proto.Workers/ListWorkers", wire, reply, threads_,
        CallAdmission::Where::kHereIfSmall,
        [](const auto&, UnaryCall& call) { call.Send(proto::ListWorkersReply()); });
  }
  grpc::ServerWriteReactor<grpc::ByteBuffer>* OpenSession(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* wire) override {
    struct Stream : grpc::ServerWriteReactor<grpc::ByteBuffer> {
      void OnDone() override { delete this; }
    };
    proto::OpenSessionRequest request;
    auto* stream = new Stream;
    stream->Finish(
        ToGrpc(admission_.TakeStream(*context, "/mlc.proto.Workers/OpenSession", *wire, request)
                   .status()));
    return stream;
  }

 private:
  CallAdmission admission_;
  CallThreads threads_{1};
};

class CallAdmissionTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  static void Expect(const AccessControl& access, grpc::StatusCode code, const char* message) {
    CallLoad load;
    Service service(access, load);
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    const auto stub = proto::Workers::NewStub(server->InProcessChannel({}));
    grpc::ClientContext unary, stream;
    proto::ListWorkersReply reply;
    const grpc::Status listed = stub->ListWorkers(&unary, {}, &reply);
    EXPECT_EQ(listed.error_code(), code) << listed.error_message();
    EXPECT_THAT(listed.error_message(), HasSubstr(message));
    const auto reader = stub->OpenSession(&stream, {});
    proto::Wake wake;
    while (reader->Read(&wake)) continue;
    const grpc::Status ended = reader->Finish();
    EXPECT_EQ(ended.error_code(), code) << ended.error_message();
    EXPECT_THAT(ended.error_message(), HasSubstr(message));
    server->Shutdown();
  }
};

TEST_F(CallAdmissionTest, ACallerRevokedWithinACallReadsTheReason) {
  Expect(OpenAccess(), grpc::OK, "");
  Expect(RevokedAccess(), grpc::UNAUTHENTICATED, "the certificate was revoked");
}

}  // namespace
}  // namespace mlc::server
