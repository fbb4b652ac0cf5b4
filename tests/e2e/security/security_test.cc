// mlc-server behind TLS, as attackers, clumsy administrators and new releases meet it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "client/tuner_client.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "proto/worker.grpc.pb.h"
#include "tests/crash/process.h"
#include "tests/unit/transport/lab.h"
#include "transport/socket.h"

namespace mlc::e2e {
namespace {

using client::TunerClient;
using ::testing::HasSubstr;
using transport::Lab;

constexpr char kBin[] = MLC_BINARY_DIR "/bin/";

class SecurityTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  SecurityTest() : lab_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~SecurityTest() override {
    if (server_ > 0) crash::Kill(server_);
  }

  void Start(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {std::string(kBin) + "mlc-server",
                                      "--log",
                                      lab_.path("tuning.db"),
                                      "--listen",
                                      address_.empty() ? "127.0.0.1:0" : address_,
                                      "--tls-cert",
                                      lab_.path("server.pem"),
                                      "--tls-key",
                                      lab_.path("server.key"),
                                      "--tls-ca",
                                      lab_.path("ca.pem"),
                                      "--metrics",
                                      "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    server_ = crash::Spawn(words, lab_.path("server.log"));
    WaitForWords("listening ");
    const std::string words_so_far = Words();
    const size_t at = words_so_far.find("listening ") + 10;
    address_ = words_so_far.substr(at, words_so_far.find('\n', at) - at);
  }
  std::string Words() const {
    std::ifstream file(lab_.path("server.log"));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void WaitForWords(const std::string& words, size_t times = 1) const {
    for (;;) {
      const std::string text = Words();
      size_t seen = 0;
      for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
        ++seen;
      }
      if (seen >= times) return;
      ASSERT_TRUE(crash::Running(server_)) << text;
      usleep(10'000);
    }
  }
  transport::ChannelOptions As(const std::string& who) const {
    return {address_, lab_.tls(who), "", ""};
  }
  int64_t Descriptors() const {
    int64_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(server_) + "/fd")) {
      ++count;
    }
    return count;
  }
  int64_t ResidentKib() const {
    std::ifstream file("/proc/" + std::to_string(server_) + "/status");
    std::string line;
    while (std::getline(file, line)) {
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    }
    return 0;
  }

  Lab lab_;
  pid_t server_ = -1;
  std::string address_;
};

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

TEST_F(SecurityTest, RolesHoldOverTheWire) {
  for (const char* who : {"read x", "submit alice", "work w"}) lab_.Make(who);
  Start();
  proto::SubmitJobRequest job;
  auto reader = TunerClient::Connect(As("read-x"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->Submit(job).status().code(), StatusCode::kPermissionDenied);
  auto submitter = TunerClient::Connect(As("submit-alice"));
  ASSERT_TRUE(submitter.ok());
  EXPECT_EQ(submitter->Submit(job).status().code(), StatusCode::kInvalidArgument);
  const Status code = submitter->SubmitRawCuda({}).status();
  EXPECT_EQ(code.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(code.message(), HasSubstr("submit alice may not call"));
  EXPECT_THAT(code.message(), HasSubstr("takes the role admin"));
  job.set_protocol(2);
  const Status newer = submitter->Submit(job).status();
  EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(newer.message(), HasSubstr("upgrade mlc-server"));

  const auto connection = transport::Connection::Open(As("work-w"));
  ASSERT_TRUE(connection.ok());
  const auto stub = proto::Workers::NewStub((*connection)->channel());
  const auto synchronize = [&](const std::string& name, int protocol) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    proto::SynchronizeRequest request;
    request.set_protocol(protocol);
    request.set_worker(name);
    request.set_boot("b");
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
    return crash::Wait(crash::Spawn(
        {std::string(kBin) + "mlc-compile", "--model", lab_.path("tiny.onnx"), "--server", address_,
         "--tls-ca", lab_.path("ca.pem"), "--tls-cert", lab_.path(who + ".pem"), "--tls-key",
         lab_.path(who + ".key"), "-o", lab_.path("tiny")},
        lab_.path(who + ".log")));
  };
  const auto said = [&](const std::string& who) {
    std::ifstream file(lab_.path(who + ".log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(compile("work-w"), 77) << said("work-w");
  EXPECT_THAT(said("work-w"), HasSubstr("role read"));
  EXPECT_EQ(compile("read-ci"), 0) << said("read-ci");
  lab_.Make("revoke read ci");
  ASSERT_EQ(kill(server_, SIGHUP), 0);
  // The list is read while the server answers.
  int code = 0;
  for (int tries = 0; code == 0 && tries < 100; ++tries) code = compile("read-ci");
  EXPECT_EQ(code, 77) << said("read-ci");
  EXPECT_THAT(said("read-ci"), HasSubstr("was revoked"));
}

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
  proto::AttendRequest attend;
  attend.set_worker("w");
  attend.set_boot("b");
  const auto stream = stub->Attend(&context, attend);

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
  const grpc::Status attended = stream->Finish();
  EXPECT_EQ(attended.error_code(), grpc::UNAUTHENTICATED) << attended.error_message();
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
  const auto start = [&](const std::string& program, const std::string& who,
                         const std::vector<std::string>& more) {
    std::vector<std::string> words = {kBin + program,
                                      "--server",
                                      address_,
                                      "--tls-ca",
                                      lab_.path("ca.pem"),
                                      "--tls-cert",
                                      lab_.path(who + ".pem"),
                                      "--tls-key",
                                      lab_.path(who + ".key")};
    words.insert(words.end(), more.begin(), more.end());
    return crash::Spawn(words, lab_.path(who + ".log"));
  };
  const auto said = [&](const std::string& who) {
    std::ifstream file(lab_.path(who + ".log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto wait_for = [&](const std::string& who, const std::string& text, pid_t process) {
    while (said(who).find(text) == std::string::npos && crash::Running(process)) usleep(50'000);
    EXPECT_THAT(said(who), HasSubstr(text));
  };
  const std::string nobodys =
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";
  ASSERT_EQ(crash::Wait(start("mlc-tune", "submit-alice",
                              {"--model", lab_.path("tiny.onnx"), "--trials", "8", "--target",
                               nobodys, "--detach"})),
            0)
      << said("submit-alice");
  std::string job = said("submit-alice");
  job = job.substr(job.find("--watch ") + 8);
  job = job.substr(0, job.find_first_of(" \n"));
  const pid_t watcher = start("mlc-tune", "read-ci", {"--watch", job});
  wait_for("read-ci", "trials", watcher);
  const pid_t worker = start("mlc-worker", "work-w", {"--name", "w", "-v", "--builders", "1"});
  wait_for("work-w", "connected to", worker);
  lab_.Make("revoke read ci");
  lab_.Make("revoke work w");
  EXPECT_EQ(crash::Wait(watcher), 77) << said("read-ci");
  EXPECT_THAT(said("read-ci"), HasSubstr("was revoked"));
  EXPECT_EQ(crash::Wait(worker), 77) << said("work-w");
  EXPECT_THAT(said("work-w"), HasSubstr("was revoked"));
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
    return crash::Wait(crash::Spawn(words("mlc-tune", "read-ci", {"--jobs"}), lab_.path("tune")));
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

// Code for workers to run: from administrators alone, as scripts see it.
TEST_F(SecurityTest, AKernelWrittenByHandIsAnAdministratorsToSubmit) {
  for (const char* what : {"submit alice", "admin root"}) lab_.Make(what);
  Start();
  std::ofstream(lab_.path("k.cu"))
      << "extern \"C\" __global__ void k(const float* a, float* b) {}\n";
  std::ofstream(lab_.path("w.txt"))
      << "workload v1 tolerance=1e-05 {\n%0 = input() : f32[64]\n%1 = add(%0, %0) : f32[64]\n"
         "return %1\n}\n";
  const auto submit = [&](const std::string& who) {
    return crash::Wait(
        crash::Spawn({std::string(kBin) + "mlc-tune",
                      "--server",
                      address_,
                      "--tls-ca",
                      lab_.path("ca.pem"),
                      "--tls-cert",
                      lab_.path(who + ".pem"),
                      "--tls-key",
                      lab_.path(who + ".key"),
                      "--cuda-kernel",
                      lab_.path("k.cu"),
                      "--workload",
                      lab_.path("w.txt"),
                      "--entry",
                      "k",
                      "--grid",
                      "1",
                      "--block",
                      "64",
                      "--target",
                      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560",
                      "--detach"},
                     lab_.path(who + ".log")));
  };
  const auto said = [&](const std::string& who) {
    std::ifstream file(lab_.path(who + ".log"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(submit("submit-alice"), 77) << said("submit-alice");
  EXPECT_THAT(said("submit-alice"), HasSubstr("takes the role admin"));
  EXPECT_EQ(submit("admin-root"), 0) << said("admin-root");
  EXPECT_THAT(said("admin-root"), HasSubstr("goes on at the server"));
  EXPECT_THAT(Words(), HasSubstr("audit: refused /mlc.proto.Tuner/SubmitRawCuda to submit alice"));
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
                                          "--jobs"};
  EXPECT_EQ(crash::Wait(crash::Spawn(words, lab_.path("client.log"))), 0);
  ASSERT_EQ(kill(server_, SIGTERM), 0);
  EXPECT_EQ(crash::Wait(server_), 0);
  server_ = -1;
  EXPECT_THAT(Words(), HasSubstr("\"message\":\"stopped\""));
}

TEST(SecurityFlagsTest, OpenListeningIsRefused) {
  const std::string words = ::testing::TempDir() + "/mlc-open-listening";
  EXPECT_EQ(crash::Wait(crash::Spawn(
                {std::string(kBin) + "mlc-server", "--log", words + ".db", "--listen", "0.0.0.0:0"},
                words)),
            65);
  std::ifstream file(words);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("--insecure-listen"));
  std::filesystem::remove(words);
}

}  // namespace
}  // namespace mlc::e2e
