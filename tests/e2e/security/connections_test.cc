// Connections that idle, come too early, or are too many; and the flags for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/rpc/socket.h"
#include "client/service/tuner_client.h"
#include "tests/e2e/security/tls_server.h"
#include "tests/temporary_folder.h"

namespace mlc::e2e {
namespace {

using client::TunerClient;
using ::testing::HasSubstr;

TEST_F(SecurityTest, IdleConnectionsHarmNobody) {
  lab_.Make("read x");
  Start();
  const int64_t before = ResidentKib();
  std::vector<transport::Descriptor> idle;
  for (int i = 0; i < 2'000; ++i) {
    auto connection = transport::ConnectTo(address_, 30'000);
    ASSERT_TRUE(connection.ok()) << i;
    // Every other one begins a handshake and says no more.
    if (i % 2 == 0) (void)!write(connection->get(), "\x16\x03\x01\x02", 4);
    idle.push_back(*std::move(connection));
  }
  auto client = TunerClient::Connect(As("read-x"));
  // Its turn comes after all of them, and a try takes seconds only.
  while (!client.ok() && crash::Running(server_)) client = TunerClient::Connect(As("read-x"));
  ASSERT_TRUE(client.ok()) << client.status().message();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(client->List(1).ok());
  EXPECT_LT(ResidentKib() - before, 256 * 1024);
  // The server hangs up on all of them by itself.
  while (Descriptors() > 200) usleep(50'000);
  EXPECT_TRUE(client->List(1).ok());
}

TEST_F(SecurityTest, AServerOutOfDescriptorsRecoversByItself) {
  lab_.Make("read x");
  Start();
  rlimit limit = {};
  ASSERT_EQ(prlimit(server_, RLIMIT_NOFILE, nullptr, &limit), 0);
  rlimit small = limit;
  // The server keeps a reserve of 256.
  small.rlim_cur = static_cast<rlim_t>(Descriptors() + 256 + 40);
  ASSERT_EQ(prlimit(server_, RLIMIT_NOFILE, &small, nullptr), 0);
  std::vector<transport::Descriptor> idle;
  for (int i = 0; i < 300; ++i) {
    auto connection = transport::ConnectTo(address_, 30'000);
    ASSERT_TRUE(connection.ok()) << i;
    idle.push_back(*std::move(connection));
  }
  WaitForWords("descriptors ran short");
  idle.clear();
  for (;;) {
    auto client = TunerClient::Connect(As("read-x"));
    if (client.ok() && client->List(1).ok()) break;
    ASSERT_TRUE(crash::Running(server_));
  }
}

// Handshakes over TLS take several steps, each of which somebody has to wait for.
TEST_F(SecurityTest, AWorkerWhoseServerStartsLaterConnects) {
  lab_.Make("work w");
  Start();
  crash::Kill(server_);
  std::vector<std::string> words = {std::string(kBin) + "mlc-worker",
                                    "--server",
                                    address_,
                                    "--tls-ca",
                                    lab_.path("ca.pem"),
                                    "--tls-cert",
                                    lab_.path("work-w.pem"),
                                    "--tls-key",
                                    lab_.path("work-w.key"),
                                    "--name",
                                    "w",
                                    "--builders",
                                    "1",
                                    "-v"};
  const pid_t worker = crash::Spawn(words, lab_.path("worker.log"));
  const auto worker_says = [&](const std::string& text) {
    std::string said;
    while (said.find(text) == std::string::npos && crash::Running(worker)) {
      usleep(50'000);
      std::ifstream file(lab_.path("worker.log"));
      said.assign(std::istreambuf_iterator<char>(file), {});
    }
    EXPECT_THAT(said, HasSubstr(text));
  };
  worker_says("no mlc-server answers");
  std::filesystem::remove(lab_.path("server.log"));
  Start();
  worker_says("connected to");
  crash::Kill(worker);
}

TEST_F(SecurityTest, TheProgramsTakeTheFlags) {
  lab_.Make("token submit alice");
  Start({"--tokens", lab_.path("tokens"), "--log-format", "json"});
  const std::vector<std::string> words = {std::string(kBin) + "mlc-tune",
                                          "--server",
                                          address_,
                                          "--tls-ca",
                                          lab_.path("ca.pem"),
                                          "--token-file",
                                          lab_.path("submit-alice.token"),
                                          "jobs"};
  EXPECT_EQ(crash::Wait(crash::Spawn(words, lab_.path("client.log"))), 0);
  ASSERT_EQ(kill(server_, SIGTERM), 0);
  EXPECT_EQ(crash::Wait(server_), 0);
  server_ = -1;
  EXPECT_THAT(Words(), HasSubstr("\"message\":\"stopped\""));
}

TEST(SecurityFlagsTest, OpenListeningIsRefused) {
  const tests::TemporaryFolder folder;
  const std::string words = folder.path("words");
  EXPECT_EQ(crash::Wait(crash::Spawn(
                {std::string(kBin) + "mlc-server", "--log", words + ".db", "--listen", "0.0.0.0:0"},
                words)),
            65);
  std::ifstream file(words);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("--insecure-listen"));
}

}  // namespace
}  // namespace mlc::e2e
