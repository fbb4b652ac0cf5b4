// The endpoint with services that answer nothing: every call of every service, by everyone.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <set>

#include "server/security/policy.h"
#include "tests/unit/server/security/endpoint_fixture.h"

namespace mlc::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using transport::Lab;

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
      const bool may = rule.any_role || caller.Has(rule.role);
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
      const bool may = rule.any_role || caller.Has(rule.role);
      EXPECT_EQ(LetIn(Call(*by_token, std::string(rule.rpc))), may) << role << " " << rule.rpc;
      EXPECT_EQ(LetIn(Call(*by_both, std::string(rule.rpc))), may) << role << " " << rule.rpc;
    }
  }
  for (const std::string& rpc : AllCalls()) {
    EXPECT_EQ(Call(*Connect(""), rpc).error_code(), grpc::UNAUTHENTICATED) << rpc;
  }
  EXPECT_THAT(metrics_->Text(), HasSubstr("mlc_server_rejected_total{reason=\"unauthenticated\"}"));
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
  EXPECT_THAT(metrics_->Text(), HasSubstr("\nmlc_server_connections_accepted 1"));
  EXPECT_THAT(metrics_->Text(), ContainsRegex("\nmlc_server_certificate_expiry_seconds [1-9]"));
}

}  // namespace
}  // namespace mlc::server
