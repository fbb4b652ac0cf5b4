// An endpoint with services that answer nothing, an authority, and clients of every role.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "server/api/endpoint.h"
#include "tests/unit/base/rpc/lab.h"
#include "tests/unit/server/health.h"

namespace mlc::server {

class EndpointTest : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kTimeout{30};

#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  static void SetUpTestSuite() {
    lab_ = new transport::Lab("endpoint");
    for (int i = 0; i < kRoles; ++i) {
      const std::string role(ToText(static_cast<Role>(i)));
      lab_->Make(role + " x");
      lab_->Make("token " + role + " y");
    }
  }
  static void TearDownTestSuite() { delete lab_; }

  EndpointTest()
      : logger_(std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(words_))) {}

  EndpointOptions Protected() const {
    EndpointOptions options;
    options.listen = "127.0.0.1:0";
    options.tls = lab_->tls("server");
    options.reflection = true;
    return options;
  }
  void Open(EndpointOptions options) {
    auto endpoint = Endpoint::Open(std::move(options), logger_, metrics_);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().ToString();
    endpoint_ = *std::move(endpoint);
    ASSERT_TRUE(endpoint_->Serve({&tuner_, &workers_}).ok());
  }
  std::unique_ptr<transport::Connection> Connect(const std::string& who,
                                                 const std::string& token = "") {
    transport::ChannelOptions options;
    options.address = endpoint_->address();
    options.tls = lab_->tls(who);
    if (!token.empty()) options.token_file = lab_->path(token + ".token");
    auto connection = transport::Connection::Open(options);
    EXPECT_TRUE(connection.ok()) << connection.status().ToString();
    return *std::move(connection);
  }
  // An empty request, whatever the call.
  static grpc::Status Call(const transport::Connection& connection, const std::string& rpc) {
    grpc::GenericStub stub(connection.channel());
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kTimeout);
    grpc::CompletionQueue queue;
    // A stream, so that it fits every kind of call; what is answered first, settles it.
    auto call = stub.PrepareCall(&context, rpc, &queue);
    void* tag;
    bool ok;
    call->StartCall(nullptr);
    (void)queue.Next(&tag, &ok);
    grpc::ByteBuffer empty{nullptr, 0};
    call->WriteLast(empty, grpc::WriteOptions(), nullptr);
    (void)queue.Next(&tag, &ok);
    grpc::ByteBuffer reply;
    call->Read(&reply, nullptr);
    (void)queue.Next(&tag, &ok);
    if (ok) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    (void)queue.Next(&tag, &ok);
    return status;
  }
  static int Health(const transport::Connection& connection, const std::string& service) {
    return HealthOf(connection.channel(), service);
  }
  static bool LetIn(const grpc::Status& status) {
    return status.error_code() != grpc::PERMISSION_DENIED &&
           status.error_code() != grpc::UNAUTHENTICATED;
  }

  inline static const transport::Lab* lab_ = nullptr;
  std::ostringstream words_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  proto::Tuner::CallbackService tuner_;
  proto::Workers::CallbackService workers_;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace mlc::server
