// A whole server with workers that are functions: everything that docs/reference/metrics.md lists
// moves.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/wire/protocol.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "server/server.h"
#include "tests/unit/db/faulty_disk.h"
#include "tests/unit/server/health.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(60);
constexpr double kHonest = 5000;
// What only a program with a fleet, or with TLS, can say: its own tests see to that.
const std::set<std::string> kElsewhere = {
    "mlc_server_fleet_workers_desired", "mlc_server_fleet_workers_running",
    "mlc_server_certificate_expiry_seconds", "mlc_server_watched_file_invalid",
    "mlc_server_snapshot_failed"};

Measurement Time(double ns) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = m.p10_ns = m.p90_ns = ns;
  m.runs = 9;
  m.build_ms = 12;
  return m;
}

// The metrics' names in backticks, without labels.
std::set<std::string> Documented() {
  std::ifstream file(MLC_SOURCE_DIR "/docs/reference/metrics.md");
  std::ostringstream text;
  text << file.rdbuf();
  std::set<std::string> names;
  const std::string words = text.str();
  for (size_t at = words.find("`mlc_"); at != std::string::npos; at = words.find("`mlc_", at + 1)) {
    names.insert(words.substr(at + 1, words.find_first_of("`{", at + 1) - at - 1));
  }
  return names;
}

class ServerMetricsTest : public ::testing::Test {
 protected:
#if defined(__SANITIZE_THREAD__)
  void SetUp() override { GTEST_SKIP() << "gRPC's own locks are not instrumented"; }
#endif
  ServerMetricsTest() : folder_(::testing::TempDir() + "/mlc-server-metrics-test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ServerMetricsTest() override {
    if (server_ != nullptr) server_->Stop(0);
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    ServerOptions options;
    options.log = folder_ + "/tuning.db";
    options.endpoint.listen = "unix:" + folder_ + "/socket";
    options.tuner.metrics = metrics_;
    options.tuner.logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(words_));
    options.tuner.terms.disconnect_ms = 1;
    options.tuner.health.canaries = true;
    options.tuner.health.max_failures_in_a_row = 1000;
    options.tuner.health.max_bad_results = 1000;
    options.tuner.quotas = *Quotas::Parse(R"({"default": {"tasks_per_job": 2}})");
    options.tuner.strategy = [](SearchInput input) {
      return std::make_unique<FakeStrategy>(std::move(input), 1000,
                                            std::make_shared<std::string>());
    };
    auto server = Server::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    tuner_ = proto::Tuner::NewStub(channel_);
    workers_ = proto::Workers::NewStub(channel_);
  }

  static proto::SubmitJobRequest Request() {
    proto::SubmitJobRequest request;
    request.set_protocol(kWireProtocol);
    proto::Task& task = *request.add_tasks();
    task.set_workload(MakeWorkload(1 << 20).ToText());
    task.set_occurrences(1);
    request.set_target(target::Target().ToText());
    request.mutable_options()->set_trials(1000);
    request.mutable_options()->set_batch(4);
    return request;
  }
  grpc::StatusCode Submit(const proto::SubmitJobRequest& request) {
    grpc::ClientContext context;
    proto::SubmitJobReply reply;
    return tuner_->SubmitJob(&context, request, &reply).error_code();
  }
  grpc::Status Synchronize(const proto::SynchronizeRequest& request,
                           proto::SynchronizeReply* reply) {
    grpc::ClientContext context;
    return workers_->Synchronize(&context, request, reply);
  }
  static proto::SynchronizeRequest Hello(const std::string& worker, int want) {
    proto::SynchronizeRequest request;
    request.set_protocol(kWireProtocol);
    request.set_worker(worker);
    request.set_incarnation("1");
    request.set_build("test");
    target::Target target;
    target.fma_gflops = 100;
    request.set_target(target.ToText());
    request.set_want(want);
    return request;
  }
  static proto::SynchronizeRequest Finish(const std::string& worker, const proto::Lease& lease,
                                          const Measurement& m) {
    proto::SynchronizeRequest request = Hello(worker, 0);
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(lease.task_uid());
    *result.mutable_measurement() = ToWire(m);
    return request;
  }
  proto::SynchronizeReply Call(const proto::SynchronizeRequest& request) {
    proto::SynchronizeReply reply;
    const grpc::Status status = Synchronize(request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }
  proto::Lease NextLease(const std::string& worker) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (std::chrono::steady_clock::now() < deadline) {
      const proto::SynchronizeReply reply = Call(Hello(worker, 1));
      if (reply.leases_size() > 0) return reply.leases(0);
    }
    ADD_FAILURE() << "no lease for " << worker;
    return {};
  }
  void Work(const std::string& worker, int count) {
    for (int i = 0; i < count; ++i) Call(Finish(worker, NextLease(worker), Time(kHonest)));
  }

  // The value of a line of the scrape; 0 without one. Notes what has moved.
  double Value(const std::string& line) {
    std::istringstream text(metrics_->Text());
    std::map<std::string, double> values;
    for (std::string word; std::getline(text, word);) {
      const size_t space = word.rfind(' ');
      if (word.starts_with('#') || space == std::string::npos) continue;
      const double value = std::strtod(word.c_str() + space, nullptr);
      std::string name = word.substr(0, space);
      values[name] = value;
      name = name.substr(0, name.find('{'));
      if (name.ends_with("_count")) name.resize(name.size() - 6);
      if (value != 0) moved_.insert(name);
    }
    return values[line];
  }
  void Await(const std::string& line, double value) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (Value(line) != value && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(Value(line), value) << line;
  }
  void AwaitSome(const std::string& line) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (Value(line) == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_GT(Value(line), 0) << line;
  }
  void AwaitHealth(int wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (HealthOf(channel_, "mlc.proto.Workers") != wanted &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(HealthOf(channel_, "mlc.proto.Workers"), wanted);
  }

  // Before there is a worker.
  void TurnAwayAndSubmit() {
    proto::SubmitJobRequest request = Request();
    request.set_protocol(99);
    EXPECT_EQ(Submit(request), grpc::FAILED_PRECONDITION);
    Await("mlc_server_rejected_total{reason=\"version\"}", 1);
    request = Request();
    for (int i = 0; i < 2; ++i) *request.add_tasks() = request.tasks(0);
    EXPECT_EQ(Submit(request), grpc::RESOURCE_EXHAUSTED);
    Await("mlc_server_rejected_total{reason=\"quota\"}", 1);
    ASSERT_EQ(Submit(Request()), grpc::OK);
    Await("mlc_server_jobs_submitted_total", 1);
    Await("mlc_server_jobs_waiting", 1);
    ASSERT_EQ(Submit(Request()), grpc::OK);
    Await("mlc_server_jobs_joined_total", 1);
    proto::SynchronizeRequest nobody = Hello("a", 1);
    nobody.clear_incarnation();
    proto::SynchronizeReply reply;
    const grpc::Status refused = Synchronize(nobody, &reply);
    EXPECT_EQ(refused.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), HasSubstr("sends no incarnation"));
    Await("mlc_server_rejected_total{reason=\"invalid\"}", 1);
  }
  // A canary, then honest work.
  void BeginWork() {
    Call(Hello("a", 0));
    Await("mlc_server_workers{state=\"untested\"}", 1);
    Call(Finish("a", NextLease("a"), Time(kHonest)));
    Await("mlc_server_workers{state=\"idle\"}", 1);
    Await("mlc_server_jobs_running", 1);
    Await("mlc_server_jobs_waiting", 0);
    AwaitSome("mlc_server_trials_queued");
    Work("a", 16);
    Await("mlc_server_results_total{outcome=\"ok\"}", 17);
    EXPECT_EQ(Value("mlc_server_acknowledge_duration_seconds_count"), 16);
    EXPECT_EQ(Value("mlc_server_trial_lease_seconds_count"), 16);
    EXPECT_EQ(Value("mlc_server_trial_build_seconds_count"), 17);
    EXPECT_GE(Value("mlc_server_commit_duration_seconds_count"), 16);
    EXPECT_GE(Value("mlc_server_trial_queue_seconds_count"), 16);
    EXPECT_GE(Value("mlc_server_leases_granted_total"), 17);
    // Paid with a later call, 20 ms after the last payment.
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (Value("mlc_server_trial_device_seconds_count") < 1) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      Call(Hello("a", 0));
    }
  }
  void DeliverBadly() {
    const proto::Lease once = NextLease("a");
    Call(Finish("a", once, Time(kHonest)));
    EXPECT_EQ(Call(Finish("a", once, Time(kHonest))).acknowledged_size(), 1);
    Await("mlc_server_results_duplicate_total", 1);
    const proto::Lease never = NextLease("a");
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(Call(Finish("a", never, Time(nothing))).refused_size(), 1);
    Await("mlc_server_results_rejected_total", 1);
    Await("mlc_server_trial_retries_total", 1);
    EXPECT_THAT(words_.str(), ::testing::ContainsRegex(
                                  "job=[0-9a-f]{32} task=[0-9a-f]{32} worker=a: result refused"));
    proto::SynchronizeRequest odd = Hello("a", 0);
    odd.add_finished()->set_task_uid("short");
    EXPECT_EQ(Call(odd).refused_size(), 1);
    Await("mlc_server_results_rejected_total", 2);
    for (int i = 0; i < 100 && Value("mlc_server_trials_abandoned_total") == 0; ++i) {
      Call(Finish("a", NextLease("a"), Measurement()));
    }
    Await("mlc_server_trials_abandoned_total", 1);
    AwaitSome("mlc_server_results_total{outcome=\"infra\"}");
    Work("a", 8);
  }
  // One worker fails its test, one leaves with a trial.
  void MeetOthers() {
    for (int i = 0; i < 2; ++i) {
      Call(Hello("liar", 0));
      Call(Finish("liar", NextLease("liar"), Time(kHonest * 100)));
    }
    Await("mlc_server_canary_failures_total", 2);
    Await("mlc_server_workers{state=\"quarantined\"}", 1);
    Call(Hello("gone", 0));
    Call(Finish("gone", NextLease("gone"), Time(kHonest)));
    grpc::ClientContext context;
    proto::OpenSessionRequest opening;
    opening.set_worker("gone");
    opening.set_incarnation("1");
    const auto stream = workers_->OpenSession(&context, opening);
    // A worker with a session need not call so often.
    while (Call(Hello("gone", 0)).next_poll_ms() <= 1000) std::this_thread::yield();
    (void)NextLease("gone");
    AwaitSome("mlc_server_trials_leased");
    AwaitSome("mlc_server_workers{state=\"busy\"}");
    context.TryCancel();
    (void)stream->Finish();
    Await("mlc_server_leases_expired_total", 1);
  }
  void FillTheDisk() {
    const proto::Lease lease = NextLease("a");
    AwaitHealth(1);
    db::FaultyDisk::Arm(db::Fault::kFull, 1, /*for_good=*/true);
    proto::SynchronizeReply reply;
    EXPECT_EQ(Synchronize(Finish("a", lease, Time(kHonest)), &reply).error_code(),
              grpc::RESOURCE_EXHAUSTED);
    Await("mlc_server_rejected_total{reason=\"full\"}", 1);
    Await("mlc_server_log_writable", 0);
    AwaitHealth(2);
    EXPECT_EQ(HealthOf(channel_, "mlc.proto.Tuner"), 1) << "what is in the log can be read";
    db::FaultyDisk::Repair();
    EXPECT_EQ(Call(Finish("a", lease, Time(kHonest))).acknowledged_size(), 1);
    Await("mlc_server_log_writable", 1);
    AwaitHealth(1);
  }

  const std::string folder_;
  std::ostringstream words_;
  std::shared_ptr<Metrics> metrics_ = std::make_shared<Metrics>();
  std::set<std::string> moved_;
  db::FaultyDisk disk_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<proto::Tuner::Stub> tuner_;
  std::unique_ptr<proto::Workers::Stub> workers_;
};

TEST_F(ServerMetricsTest, EverythingDocumentedMoves) {
  Start();
  TurnAwayAndSubmit();
  BeginWork();
  DeliverBadly();
  MeetOthers();
  FillTheDisk();
  grpc::ClientContext ask;
  proto::BestRequest best;
  best.add_workloads(MakeWorkload(1 << 20).digest().ToText());
  best.set_target(Hello("a", 0).target());
  proto::BestReply found;
  (void)tuner_->Best(&ask, best, &found);
  Await("mlc_server_best_duration_seconds_count", 1);
  // It waits for a second measurement, received and not acknowledged.
  Call(Finish("a", NextLease("a"), Time(1000)));
  Await("mlc_server_results_suspect_total", 1);
  Await("mlc_server_trials_received", 1);
  AwaitSome("mlc_server_log_wal_bytes");
  AwaitSome("mlc_server_log_disk_free_bytes");
  AwaitSome("mlc_server_connections_accepted");
  AwaitSome("mlc_server_open_fds");
  const std::set<std::string> documented = Documented();
  EXPECT_GT(documented.size(), 25u);
  for (const std::string& name : documented) {
    EXPECT_TRUE(moved_.contains(name) || kElsewhere.contains(name)) << name << " never moved";
  }
}

}  // namespace
}  // namespace mlc::server
