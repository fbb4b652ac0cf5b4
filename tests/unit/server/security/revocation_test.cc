// Tokens and certificates that are taken back while a server runs.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/tls/revocations.h"
#include "tests/unit/server/security/endpoint_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using transport::Lab;

constexpr int64_t kWaitMs = 30'000;
constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

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
  endpoint_->RefreshFiles();
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
  endpoint_->RefreshFiles();
  EXPECT_THAT(words_.str(), HasSubstr("is not signed by the authority"));
  EXPECT_THAT(words_.str(), HasSubstr("revocations: the old ones stay in force: --tls-crl: "));
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("mlc_server_watched_file_invalid{file=\"revocations\"} 1"));
  EXPECT_FALSE(endpoint_->files_are_valid());
  EXPECT_FALSE(LetIn(Call(*connection, kRpc)));
  lab_->Make("revoke");
  endpoint_->RefreshFiles();
  EXPECT_THAT(words_.str(), HasSubstr("revocations: the file can be used again"));
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("mlc_server_watched_file_invalid{file=\"revocations\"} 0"));
  EXPECT_TRUE(endpoint_->files_are_valid());
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

// A stream of gRPC's own services, open and answered once.
class OpenStream {
 public:
  OpenStream(const transport::Connection& connection, const std::string& rpc)
      : stub_(connection.channel()) {
    context_.set_wait_for_ready(true);
    call_ = stub_.PrepareCall(&context_, rpc, &queue_);
    call_->StartCall(nullptr);
    Next();
    const bool lists = rpc == kReflection;
    const grpc::Slice slice(lists ? std::string("\x3a\x00", 2) : std::string());
    const grpc::ByteBuffer request(&slice, 1);
    call_->Write(request, nullptr);
    Next();
    call_->Read(&reply_, nullptr);
    answered_ = Next();
    call_->Read(&reply_, nullptr);
  }
  bool answered() const { return answered_; }
  // Waits for the end.
  grpc::Status Status() {
    while (Next()) call_->Read(&reply_, nullptr);
    grpc::Status status;
    call_->Finish(&status, nullptr);
    Next();
    return status;
  }
  void Leave() { context_.TryCancel(); }

 private:
  bool Next() {
    void* tag;
    bool ok = false;
    (void)queue_.Next(&tag, &ok);
    return ok;
  }
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::ByteBuffer reply_;
  bool answered_ = false;
};

TEST_F(EndpointTest, StreamsOfGrpcsOwnServicesEndWithTheirCertificateOrToken) {
  const Lab lab("own-streams");
  for (const char* what : {"admin stays", "admin gone", "token admin taken", "revoke"}) {
    lab.Make(what);
  }
  EndpointOptions options = Protected();
  options.tls = lab.tls("server");
  options.tls.revoked = lab.path("crl.pem");
  options.tokens = lab.path("tokens");
  Open(options);
  const auto connect = [&](const std::string& who, const std::string& token) {
    transport::ChannelOptions client;
    client.address = endpoint_->address();
    client.tls = lab.tls(who);
    if (!token.empty()) client.token_file = lab.path(token + ".token");
    return std::move(transport::Connection::Open(client)).value();
  };
  const auto stays = connect("admin-stays", ""), gone = connect("admin-gone", ""),
             taken = connect("", "admin-taken");
  for (const char* rpc : {kWatch, kReflection}) {
    OpenStream left(*gone, rpc);
    left.Leave();
    EXPECT_EQ(left.Status().error_code(), grpc::CANCELLED);
  }
  OpenStream watch_stays(*stays, kWatch), watch_gone(*gone, kWatch), watch_taken(*taken, kWatch);
  OpenStream asks_stays(*stays, kReflection), asks_gone(*gone, kReflection),
      asks_taken(*taken, kReflection);
  for (const OpenStream* one :
       {&watch_stays, &watch_gone, &watch_taken, &asks_stays, &asks_gone, &asks_taken}) {
    ASSERT_TRUE(one->answered());
  }
  lab.Make("revoke admin gone");
  std::ofstream(lab.path("tokens")) << "# nobody\n";
  endpoint_->Reload();
  EXPECT_EQ(watch_gone.Status().error_code(), grpc::CANCELLED);
  EXPECT_EQ(asks_gone.Status().error_code(), grpc::CANCELLED);
  EXPECT_EQ(watch_taken.Status().error_code(), grpc::CANCELLED);
  EXPECT_EQ(asks_taken.Status().error_code(), grpc::CANCELLED);
  EXPECT_THAT(words_.str(), HasSubstr(std::string("audit: ended ") + kWatch + " of gone"));
  EXPECT_THAT(words_.str(), HasSubstr(std::string("audit: ended ") + kReflection + " of taken"));
  EXPECT_THAT(words_.str(), Not(HasSubstr(" of stays")));
  EXPECT_FALSE(LetIn(Call(*gone, kWatch)));
  EXPECT_TRUE(LetIn(Call(*stays, kWatch)));
  watch_stays.Leave();
  asks_stays.Leave();
  EXPECT_EQ(watch_stays.Status().error_code(), grpc::CANCELLED);
  EXPECT_EQ(asks_stays.Status().error_code(), grpc::CANCELLED);
}

}  // namespace
}  // namespace mlc::server
