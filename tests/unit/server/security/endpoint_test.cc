// The endpoint with services that answer nothing: every call of every service, by everyone.
#include "server/endpoint.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "server/security/policy.h"
#include "tests/unit/server/health.h"
#include "tests/unit/transport/lab.h"
#include "transport/revocations.h"

namespace mlc::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using transport::Lab;

constexpr int64_t kWaitMs = 30'000;

// All calls of our services, by protobuf's own account, and of gRPC's.
std::set<std::string> AllCalls() {
  std::set<std::string> calls = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
                                 "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (const auto* file : {proto::SubmitJobRequest::descriptor()->file(),
                           proto::SynchronizeRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      for (int j = 0; j < service->method_count(); ++j) {
        calls.insert("/" + std::string(service->full_name()) + "/" +
                     std::string(service->method(j)->name()));
      }
    }
  }
  return calls;
}

class EndpointTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  static void SetUpTestSuite() {
    lab_ = new Lab("endpoint");
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
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(kWaitMs));
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

  static const Lab* lab_;
  std::ostringstream words_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  proto::Tuner::CallbackService tuner_;
  proto::Workers::CallbackService workers_;
  std::unique_ptr<Endpoint> endpoint_;
};
const Lab* EndpointTest::lab_ = nullptr;

TEST_F(EndpointTest, EveryCallHasItsRule) {
  std::set<std::string> ruled;
  for (const Rule& rule : Policy()) EXPECT_TRUE(ruled.insert(std::string(rule.rpc)).second);
  EXPECT_EQ(ruled, AllCalls());
}

TEST_F(EndpointTest, EveryRoleMakesItsCallsAndNoOther) {
  Open(Protected());
  int let_in = 0;
  for (int i = 0; i < kRoles; ++i) {
    const Caller caller{"x", static_cast<Role>(i)};
    const auto connection = Connect(std::string(ToText(caller.role)) + "-x");
    for (const Rule& rule : Policy()) {
      const grpc::Status status = Call(*connection, std::string(rule.rpc));
      const bool may = rule.anyone || caller.Has(rule.role);
      EXPECT_EQ(LetIn(status), may)
          << caller.ToText() << " " << rule.rpc << ": " << status.error_message();
      let_in += may ? 1 : 0;
      if (may) continue;
      EXPECT_EQ(status.error_code(), grpc::PERMISSION_DENIED);
      EXPECT_THAT(status.error_message(), HasSubstr(std::string(ToText(rule.role))));
      EXPECT_THAT(words_.str(),
                  HasSubstr("audit: refused " + std::string(rule.rpc) + " to " + caller.ToText()));
    }
    EXPECT_EQ(Call(*connection, "/mlc.proto.Tuner/NoSuchCall").error_code(),
              grpc::PERMISSION_DENIED);
  }
  EXPECT_GT(let_in, kRoles);
}

TEST_F(EndpointTest, ATokenIsAsGoodAsACertificate) {
  EndpointOptions options = Protected();
  options.tokens = lab_->path("tokens");
  Open(options);
  for (int i = 0; i < kRoles; ++i) {
    const Caller caller{"y", static_cast<Role>(i)};
    const std::string role(ToText(caller.role));
    const auto by_token = Connect("", role + "-y");
    const auto by_both = Connect("read-x", role + "-y");
    for (const Rule& rule : Policy()) {
      const bool may = rule.anyone || caller.Has(rule.role);
      EXPECT_EQ(LetIn(Call(*by_token, std::string(rule.rpc))), may) << role << " " << rule.rpc;
      EXPECT_EQ(LetIn(Call(*by_both, std::string(rule.rpc))), may) << role << " " << rule.rpc;
    }
  }
  for (const std::string& rpc : AllCalls()) {
    EXPECT_EQ(Call(*Connect(""), rpc).error_code(), grpc::UNAUTHENTICATED) << rpc;
  }
  EXPECT_THAT(metrics_->Text(), HasSubstr("mlc_grpc_rejected_total{reason=\"unauthenticated\"}"));
}

TEST_F(EndpointTest, ARevokedTokenIsRefusedOnTheSameConnection) {
  lab_->Make("token submit gone");
  EndpointOptions options = Protected();
  options.tokens = lab_->path("tokens");
  Open(options);
  const auto connection = Connect("", "submit-gone");
  EXPECT_TRUE(LetIn(Call(*connection, "/mlc.proto.Tuner/ListJobs")));
  const std::string before = lab_->path("submit-gone.token");
  std::filesystem::copy_file(before, before + ".old");
  lab_->Make("token submit gone");
  endpoint_->Reload();
  EXPECT_TRUE(LetIn(Call(*connection, "/mlc.proto.Tuner/ListJobs"))) << "the file has a new token";
  std::filesystem::rename(before + ".old", before);
  const grpc::Status status = Call(*connection, "/mlc.proto.Tuner/ListJobs");
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("unknown, or was revoked"));
}

TEST_F(EndpointTest, ARevokedCertificateIsRefusedOnTheSameConnection) {
  constexpr char kRpc[] = "/mlc.proto.Tuner/ListJobs";
  for (const char* what : {"submit gone", "token submit gone2", "revoke"}) lab_->Make(what);
  EndpointOptions options = Protected();
  options.tls.revoked = lab_->path("crl.pem");
  options.tokens = lab_->path("tokens");
  Open(options);
  const auto connection = Connect("submit-gone");
  const auto with_token = Connect("submit-gone", "submit-gone2");
  EXPECT_TRUE(LetIn(Call(*connection, kRpc)));
  EXPECT_TRUE(LetIn(Call(*with_token, kRpc)));
  lab_->Make("revoke submit gone");
  endpoint_->Tick();
  const grpc::Status status = Call(*connection, kRpc);
  EXPECT_EQ(status.error_code(), grpc::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("certificate was revoked"));
  EXPECT_FALSE(LetIn(Call(*with_token, kRpc))) << "a token does not make up for it";
  EXPECT_FALSE(LetIn(Call(*Connect("submit-gone"), kRpc)));
  EXPECT_TRUE(LetIn(Call(*Connect("read-x"), kRpc))) << "others are not concerned";
  EXPECT_TRUE(LetIn(Call(*Connect("", "submit-gone2"), kRpc)));
  lab_->Make("submit gone");
  EXPECT_TRUE(LetIn(Call(*Connect("submit-gone"), kRpc))) << "a new certificate";
  // What cannot be used changes nothing.
  const Lab other("endpoint-elsewhere");
  other.Make("revoke");
  std::filesystem::copy_file(other.path("crl.pem"), lab_->path("crl.new"));
  std::filesystem::rename(lab_->path("crl.new"), lab_->path("crl.pem"));
  endpoint_->Tick();
  EXPECT_THAT(words_.str(), HasSubstr("is not signed by the authority"));
  EXPECT_FALSE(LetIn(Call(*connection, kRpc)));
  for (const char* text : {"", "no list"}) {
    std::ofstream(lab_->path("crl.pem")) << text;
    EXPECT_EQ(transport::Revocations::Open(options.tls, "").status().code(),
              StatusCode::kInvalidArgument);
  }
  std::filesystem::remove(lab_->path("crl.pem"));
  EXPECT_EQ(transport::Revocations::Open(options.tls, "").status().code(), StatusCode::kNotFound);
}

TEST_F(EndpointTest, AClientWithTheListRefusesARevokedServer) {
  const Lab lab("revoked-server");
  for (const char* what : {"read x", "revoke"}) lab.Make(what);
  EndpointOptions options = Protected();
  options.tls = lab.tls("server");
  Open(options);
  transport::ChannelOptions client;
  client.address = endpoint_->address();
  client.tls = lab.tls("read-x");
  client.tls.revoked = lab.path("crl.pem");
  const auto before = transport::Connection::Open(client);
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  EXPECT_TRUE((*before)->WaitUntilReady(kWaitMs).ok());
  EXPECT_TRUE(LetIn(Call(**before, "/mlc.proto.Tuner/ListJobs")));
  // Of a program that has run since before the key was lost, and connects again.
  const auto connection = transport::Connection::Open(client);
  ASSERT_TRUE(connection.ok());
  lab.Make("revoke server");
  const auto expect_refused = [&] {
    const Status status = (*connection)->WaitUntilReady(500);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
    EXPECT_THAT(status.message(), HasSubstr("the certificate of " + client.address + " was "));
    EXPECT_THAT(status.message(), HasSubstr("revoked, by " + client.tls.revoked));
  };
  expect_refused();
  client.server_name = "elsewhere";
  EXPECT_THAT((*transport::Connection::Open(client))->WaitUntilReady(500).message(),
              HasSubstr("is not for 'elsewhere'"))
      << "the name is looked at, too";
  // A new certificate, taken up while both run.
  lab.Make("server localhost 127.0.0.1");
  endpoint_->Reload();
  Status reached;
  do {
    reached = (*connection)->WaitUntilReady(kWaitMs);
  } while (reached.code() == StatusCode::kUnauthenticated);
  EXPECT_TRUE(reached.ok()) << reached.ToString();
  EXPECT_TRUE(LetIn(Call(**connection, "/mlc.proto.Tuner/ListJobs")));
}

TEST_F(EndpointTest, AListThatAClientCannotUseIsAnError) {
  const Lab lab("unusable-list");
  transport::ChannelOptions client;
  client.address = "127.0.0.1:1";
  client.tls.revoked = lab.path("crl.pem");
  const auto error = [&] { return transport::Connection::Open(client).status(); };
  EXPECT_EQ(error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(error().message(), HasSubstr("--tls-crl needs --tls-ca"));
  client.tls.authority = lab.path("ca.pem");
  EXPECT_EQ(error().code(), StatusCode::kNotFound);
  std::ofstream(client.tls.revoked) << "no list";
  EXPECT_EQ(error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(error().message(), HasSubstr("holds no list in PEM"));
  lab_->Make("revoke");
  client.tls.revoked = lab_->path("crl.pem");
  EXPECT_THAT(error().message(), HasSubstr("is not signed by the authority"));
}

TEST_F(EndpointTest, WithoutTlsEverybodyOnThisMachineIsLocal) {
  EndpointOptions options;
  options.listen = "127.0.0.1:0";
  options.reflection = true;
  Open(options);
  transport::ChannelOptions client;
  client.address = endpoint_->address();
  const auto connection = transport::Connection::Open(client);
  ASSERT_TRUE(connection.ok());
  for (const std::string& rpc : AllCalls()) EXPECT_TRUE(LetIn(Call(**connection, rpc))) << rpc;
}

TEST_F(EndpointTest, ListeningOpenlyTakesAFlagAndIsSaidLoudly) {
  EndpointOptions options;
  options.listen = "0.0.0.0:0";
  const Status refused = Endpoint::Open(options, logger_, metrics_).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--insecure-listen"));
  options.insecure_listen = true;
  EXPECT_TRUE(Endpoint::Open(options, logger_, metrics_).ok());
  EXPECT_THAT(words_.str(), HasSubstr("INSECURE"));
  options = Protected();
  options.listen = "0.0.0.0:0";
  EXPECT_TRUE(Endpoint::Open(options, logger_, metrics_).ok());
}

TEST_F(EndpointTest, ConnectionsThatFailAreExplained) {
  Open(Protected());
  const auto explain = [&](const transport::ChannelOptions& options) {
    const auto connection = transport::Connection::Open(options);
    return connection.ok() ? (*connection)->Explain().ToString() : connection.status().ToString();
  };
  transport::ChannelOptions options;
  options.address = endpoint_->address();
  options.tls = lab_->tls("read-x");
  EXPECT_EQ(explain(options), "OK");
  options.server_name = "elsewhere";
  EXPECT_THAT(explain(options), HasSubstr("is not for 'elsewhere'"));
  options.server_name.clear();
  options.tls = lab_->tls("");
  EXPECT_THAT(explain(options), HasSubstr("give --tls-cert and --tls-key"));
  const Lab other("other");
  other.Make("read x");
  options.tls = other.tls("read-x");
  EXPECT_THAT(explain(options), HasSubstr("is not signed by"));
  options.tls.authority = lab_->path("ca.pem");
  EXPECT_THAT(explain(options), HasSubstr("not signed by the --tls-ca there"));
  options.address = "127.0.0.1:1";
  EXPECT_THAT(explain(options), HasSubstr("no mlc-server answers at 127.0.0.1:1"));
}

TEST_F(EndpointTest, HealthSaysWhatItIsTold) {
  Open(Protected());
  const auto connection = Connect("read-x");
  EXPECT_EQ(Health(*connection, ""), 1);
  EXPECT_EQ(Health(*connection, "mlc.proto.Workers"), 0) << "nothing is known of it yet";
  endpoint_->SetServing("mlc.proto.Workers", true);
  EXPECT_EQ(Health(*connection, "mlc.proto.Workers"), 1);
  endpoint_->SetServing("mlc.proto.Workers", false);
  EXPECT_EQ(Health(*connection, "mlc.proto.Workers"), 2);
  EXPECT_EQ(Health(*connection, ""), 1);
  endpoint_->SetServing("", false);
  EXPECT_EQ(Health(*connection, ""), 2);
  endpoint_->Tick();
  EXPECT_THAT(metrics_->Text(), HasSubstr("\nmlc_connections 1"));
  EXPECT_THAT(metrics_->Text(), ContainsRegex("\nmlc_certificate_expiry_seconds [1-9]"));
}

}  // namespace
}  // namespace mlc::server
