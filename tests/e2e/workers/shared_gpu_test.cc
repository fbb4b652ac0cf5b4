// Two workers as processes on one card that pretends: both make progress, and the card never runs
// kernels of one while the other has its turn.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "compiler/build/nvrtc.h"
#include "compiler/graph/workload.h"
#include "db/sqlite_log.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "tests/crash/process.h"

namespace mlc::e2e {
namespace {

using crash::Spawn;
using crash::Wait;

constexpr std::chrono::seconds kPatience(240);
constexpr char kFake[] = MLC_FAKE_CUDA;

class SharedGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
    std::filesystem::create_directories(folder_);
    // Held by the driver around every launch: see the fake driver.
    std::ofstream(Path("card")).close();
    server_ = Spawn({Program("mlc-server"), "--log", Path("tuning.db"), "--listen", Address(),
                     "--canaries", "off"},
                    Path("messages"));
    const auto channel = grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials());
    ASSERT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + kPatience));
    workers_ = proto::Workers::NewStub(channel);
    tuner_ = proto::Tuner::NewStub(channel);
  }
  void TearDown() override {
    for (const pid_t pid : {one_, two_, server_}) {
      if (pid > 0) kill(pid, SIGKILL);
      if (pid > 0) (void)Wait(pid);
    }
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Address() const { return "unix:" + Path("socket"); }
  static std::string Program(const std::string& name) {
    return std::string(MLC_BINARY_DIR) + "/bin/" + name;
  }
  pid_t StartWorker(const std::string& name) {
    const std::string fake = kFake;
    return Spawn({"/usr/bin/env",
                  "LD_LIBRARY_PATH=" + fake + "/lib64",
                  "FAKE_GPUS=1",
                  "FAKE_IMAGE=right 1000",
                  "FAKE_CARD=" + Path("card"),
                  Program("mlc-worker"),
                  "--server",
                  Address(),
                  "--target",
                  "cuda",
                  "--cuda-home",
                  fake,
                  "--cubin-cache",
                  Path("cubins"),
                  "--builders",
                  "1",
                  "--slots",
                  "4",
                  "--name",
                  name,
                  "--verbose"},
                 Path("messages"));
  }
  proto::WorkerLine Line(const std::string& worker) {
    proto::ListWorkersReply reply;
    grpc::ClientContext context;
    (void)workers_->ListWorkers(&context, {}, &reply);
    for (const proto::WorkerLine& line : reply.workers()) {
      if (line.worker() == worker) return line;
    }
    return {};
  }
  // All of them double 1000 numbers, which is what the card computes.
  std::string Submit(const std::string& target, int64_t trials) {
    proto::SubmitJobRequest request;
    for (const char* shape : {"1000", "10,100", "100,10", "20,50", "50,20", "8,125"}) {
      const std::string type = " : f32[" + std::string(shape) + "]\n";
      const auto workload =
          graph::Workload::Parse("workload v1 tolerance=1e-05 {\n%0 = input()" + type +
                                 "%1 = add(%0, %0)" + type + "return %1\n}\n");
      proto::Task& task = *request.add_tasks();
      task.set_workload(workload->ToText());
      task.set_occurrences(1);
    }
    request.set_target(target);
    request.mutable_options()->set_trials(trials);
    request.mutable_options()->set_batch(4);
    proto::SubmitJobReply reply;
    grpc::ClientContext context;
    const grpc::Status status = tuner_->SubmitJob(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply.job();
  }
  proto::JobProgress Progress(const std::string& job) {
    proto::WatchJobRequest request;
    request.set_job(job);
    grpc::ClientContext context;
    auto reader = tuner_->WatchJob(&context, request);
    proto::JobProgress progress;
    (void)reader->Read(&progress);
    context.TryCancel();
    (void)reader->Finish();
    return progress;
  }
  template <typename Condition>
  bool WaitFor(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  std::string Messages() const {
    std::ifstream file(Path("messages"));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = ::testing::TempDir() + "/mlc-shared-gpu-" + std::to_string(getpid());
  pid_t server_ = -1, one_ = -1, two_ = -1;
  std::unique_ptr<proto::Workers::Stub> workers_;
  std::unique_ptr<proto::Tuner::Stub> tuner_;
};

TEST_F(SharedGpuTest, TwoWorkersOfOneCardTakeTurns) {
  one_ = StartWorker("one");
  two_ = StartWorker("two");
  ASSERT_TRUE(WaitFor([&] {
    return !Line("one").target().empty() && !Line("two").target().empty();
  })) << Messages();
  ASSERT_EQ(Line("one").target().substr(0, 26), "target v1 cuda arch=sm_90a");
  const std::string job = Submit(Line("one").target(), 60);
  ASSERT_TRUE(WaitFor([&] { return Progress(job).state() == proto::DONE; })) << Messages();
  EXPECT_GT(Progress(job).gpu_busy(), 0);
  EXPECT_LE(Progress(job).gpu_busy(), 1);
  EXPECT_GT(Line("one").results(), 0);
  EXPECT_GT(Line("two").results(), 0);
  for (const pid_t worker : {one_, two_}) kill(worker, SIGTERM);
  EXPECT_EQ(Wait(one_), 0);
  EXPECT_EQ(Wait(two_), 0);
  kill(server_, SIGTERM);
  EXPECT_EQ(Wait(server_), 0);
  one_ = two_ = server_ = -1;
  const auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  const auto records = (*log)->List({});
  ASSERT_TRUE(records.ok());
  EXPECT_GE(records->size(), 24u);
  for (const db::Record& record : *records) {
    const Measurement& m = record.measurement;
    EXPECT_TRUE(m.outcome == Outcome::kOk || m.outcome == Outcome::kTooSlow) << m.detail;
  }
  EXPECT_NE(Messages().find("GPU busy "), std::string::npos) << Messages();
}

}  // namespace
}  // namespace mlc::e2e
