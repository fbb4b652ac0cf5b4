#include "tests/e2e/workers/lab.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compiler/graph/workload.h"
#include "tests/crash/process.h"

namespace mlc::e2e {

Lab::Lab() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  folder_ = ::testing::TempDir() + "/mlc-lab-" + std::to_string(getpid()) + info->name();
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_ + "/state");
}

Lab::~Lab() {
  for (const pid_t pid : {one_, two_, server_}) {
    if (pid > 0) kill(pid, SIGKILL);
    if (pid > 0) (void)crash::Wait(pid);
  }
  std::filesystem::remove_all(folder_);
}

std::string Lab::Program(const std::string& name) {
  return std::string(MLC_BINARY_DIR) + "/bin/" + name;
}

void Lab::StartServer(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {Program("mlc-server"), "--log", Path("tuning.db"), "--listen",
                                      Address()};
  command.insert(command.end(), flags.begin(), flags.end());
  server_ = crash::Spawn(command, Path("messages"));
  // A channel of its own that soon tries again, for tests that start the server more than once.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also how long one attempt may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
  const auto channel =
      grpc::CreateCustomChannel(Address(), grpc::InsecureChannelCredentials(), arguments);
  ASSERT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + kTimeout));
  workers_ = proto::Workers::NewStub(channel);
  tuner_ = proto::Tuner::NewStub(channel);
}

std::string Lab::Submit(const std::vector<std::string>& workloads, const std::string& target,
                        int64_t trials, int64_t batch) {
  proto::SubmitJobRequest request;
  request.set_protocol(1);
  for (const std::string& text : workloads) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(graph::Workload::Parse(text)->ToText());
    task.set_occurrences(1);
  }
  request.set_target(target);
  request.mutable_options()->set_trials(trials);
  request.mutable_options()->set_batch(batch);
  proto::SubmitJobReply reply;
  grpc::ClientContext context;
  const grpc::Status status = tuner_->SubmitJob(&context, request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply.job();
}

proto::JobProgress Lab::Progress(const std::string& job) {
  proto::WatchJobRequest request;
  request.set_job(job);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  auto reader = tuner_->WatchJob(&context, request);
  proto::JobProgress progress;
  (void)reader->Read(&progress);
  context.TryCancel();
  (void)reader->Finish();
  return progress;
}

proto::WorkerLine Lab::Line(const std::string& worker) {
  proto::ListWorkersReply reply;
  grpc::ClientContext context;
  (void)workers_->ListWorkers(&context, {}, &reply);
  for (const proto::WorkerLine& line : reply.workers()) {
    if (line.worker() == worker) return line;
  }
  return {};
}

std::string Lab::AllMessages() const {
  std::ifstream file(Path("messages"));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Lab::Messages() const {
  const std::string text = AllMessages();
  return text.substr(text.size() > 3000 ? text.size() - 3000 : 0);
}

}  // namespace mlc::e2e
