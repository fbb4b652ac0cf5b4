// Certificates that are renewed, half written, expired, foreign or revoked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/rpc/socket.h"
#include "client/service/tuner_client.h"
#include "tests/e2e/security/tls_server.h"

namespace mlc::e2e {
namespace {

using client::TunerClient;
using ::testing::HasSubstr;
using transport::Lab;

TEST_F(SecurityTest, CertificatesAreRenewedUnderLoadWithoutAFailedCall) {
  lab_.Make("read x");
  Start();
  std::atomic<bool> stop = false;
  std::atomic<int64_t> calls = 0;
  std::atomic<int64_t> failed = 0;
  const auto load = [&](bool anew) {
    auto client = TunerClient::Connect(As("read-x"));
    while (!stop) {
      if (anew) client = TunerClient::Connect(As("read-x"));
      const bool good = client.ok() && client->List(1).ok();
      ++(good ? calls : failed);
    }
  };
  {
    std::jthread steady([&] { load(false); });
    std::jthread fresh([&] { load(true); });
    for (size_t round = 1; round <= 3; ++round) {
      lab_.Make("server localhost 127.0.0.1", "DAYS=" + std::to_string(100 + round));
      // The start tells of the certificates once.
      WaitForWords("certificates: localhost", round + 1);
      const int64_t before = calls;
      while (calls < before + 50) usleep(1'000);
    }
    stop = true;
  }
  EXPECT_EQ(failed, 0);
  EXPECT_GT(calls, 100);
}

TEST_F(SecurityTest, HalfWrittenFilesAreNotTaken) {
  lab_.Make("read x");
  Start();
  std::ofstream(lab_.path("server.pem")) << "-----BEGIN CERTIFICATE-----\nAAAA";
  ASSERT_EQ(kill(server_, SIGHUP), 0);
  WaitForWords("the old ones stay");
  EXPECT_TRUE(TunerClient::Connect(As("read-x")).ok());
}

TEST_F(SecurityTest, ExpiredAndForeignCertificatesAreExplained) {
  lab_.Make("read x");
  lab_.Make("submit old", "DAYS=-1");
  const Lab other("elsewhere");
  other.Make("read x");
  Start();
  const auto words = [](const transport::ChannelOptions& options) {
    const auto client = TunerClient::Connect(options);
    return client.ok() ? std::string("connected") : client.status().message();
  };
  EXPECT_EQ(words(As("read-x")), "connected");
  EXPECT_THAT(words(As("submit-old")), HasSubstr("expired on"));
  EXPECT_THAT(words({address_, other.tls("read-x"), "", ""}), HasSubstr("is not signed by"));
  transport::ChannelOptions plain;
  plain.address = address_;
  EXPECT_FALSE(TunerClient::Connect(plain).ok());
}

// A worker outlives the loss of its server's key; who dials anew hears why it fails.
TEST_F(SecurityTest, ARevokedServerIsRefusedUntilItHasANewCertificate) {
  for (const char* what : {"work w", "read ci", "revoke server"}) lab_.Make(what);
  Start();
  const auto words = [&](const std::string& program, const std::string& who,
                         const std::vector<std::string>& more) {
    std::vector<std::string> all = {kBin + program,
                                    "--server",
                                    address_,
                                    "--tls-ca",
                                    lab_.path("ca.pem"),
                                    "--tls-crl",
                                    lab_.path("crl.pem"),
                                    "--tls-cert",
                                    lab_.path(who + ".pem"),
                                    "--tls-key",
                                    lab_.path(who + ".key")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto said = [&](const std::string& file) {
    std::ifstream in(lab_.path(file));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto list = [&] {
    return crash::Wait(crash::Spawn(words("mlc-tune", "read-ci", {"jobs"}), lab_.path("tune")));
  };
  EXPECT_EQ(list(), 77) << said("tune");
  EXPECT_THAT(said("tune"), HasSubstr("was revoked, by"));
  std::ofstream(lab_.path("tiny.onnx"), std::ios::binary) << crash::TinyModel();
  const auto compile =
      words("mlc-compile", "read-ci", {"--model", lab_.path("tiny.onnx"), "-o", lab_.path("tiny")});
  EXPECT_EQ(crash::Wait(crash::Spawn(compile, lab_.path("compile"))), 77) << said("compile");
  EXPECT_THAT(said("compile"), HasSubstr("was revoked, by"));
  const pid_t worker = crash::Spawn(
      words("mlc-worker", "work-w", {"--name", "w", "-v", "--builders", "1"}), lab_.path("worker"));
  const auto worker_says = [&](const std::string& text) {
    while (said("worker").find(text) == std::string::npos && crash::Running(worker)) usleep(50'000);
    EXPECT_THAT(said("worker"), HasSubstr(text));
  };
  worker_says("was revoked, by");
  lab_.Make("server localhost 127.0.0.1");
  ASSERT_EQ(kill(server_, SIGHUP), 0);
  worker_says("connected to");
  crash::Kill(worker);
  EXPECT_EQ(list(), 0) << said("tune");
}

}  // namespace
}  // namespace mlc::e2e
