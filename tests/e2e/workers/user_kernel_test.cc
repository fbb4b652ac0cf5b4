// User-supplied kernels, through real processes and on a card that pretends: from mlc-tune to the
// log; past workers that do not take them; and a server that leases one to a worker that never said
// it would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/sandbox/sandbox.h"
#include "compiler/build/nvrtc.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"
#include "tests/e2e/workers/lab.h"

namespace mlc::e2e {
namespace {

using crash::Spawn;
using crash::Wait;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kFake[] = MLC_FAKE_CUDA;
constexpr char kSource[] =
    "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
    "  out[threadIdx.x] = 2 * in[threadIdx.x];\n}\n";
constexpr char kWorkload[] =
    "workload v1 tolerance=1e-05 {\n%0 = input() : f32[1000]\n%1 = add(%0, %0) : f32[1000]\n"
    "return %1\n}\n";

class UserKernelTest : public Lab {
 protected:
  void SetUp() override {
    if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
    std::ofstream(Path("k.cu")) << kSource;
    std::ofstream(Path("w.txt")) << kWorkload;
  }
  // With the card that doubles 1000 numbers, whatever code it is given.
  static std::vector<std::string> OnTheCard(std::vector<std::string> words) {
    std::vector<std::string> command = {"/usr/bin/env",
                                        "LD_LIBRARY_PATH=" + std::string(kFake) + "/lib64",
                                        "FAKE_GPUS=1", "FAKE_IMAGE=right 1000"};
    command.insert(command.end(), words.begin(), words.end());
    return command;
  }
  // The same card, which runs nothing but what is launched so.
  static std::vector<std::string> OnTheCardFor(const std::string& launch,
                                               std::vector<std::string> words) {
    std::vector<std::string> command = OnTheCard(std::move(words));
    command.insert(command.begin() + 1, "FAKE_LAUNCH=" + launch);
    return command;
  }
  pid_t StartWorker(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {Program("mlc-worker"),
                                      "--server",
                                      Address(),
                                      "--target",
                                      "cuda",
                                      "--cuda-home",
                                      kFake,
                                      "--cubin-cache",
                                      Path("cubins"),
                                      "--builders",
                                      "1",
                                      "--name",
                                      name,
                                      "--verbose"};
    words.insert(words.end(), more.begin(), more.end());
    return Spawn(OnTheCard(words), Path("messages"));
  }
  std::string Output(const std::string& file) const {
    std::ifstream in(Path(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> Kernel(const std::string& entry) const {
    return {"--cuda-kernel", Path("k.cu"), "--workload", Path("w.txt"), "--entry",
            entry,           "--grid",     "1",          "--block",     "1000"};
  }
};

TEST_F(UserKernelTest, OneIsMeasuredByTheWorkerThatTakesItAndKeptInTheLog) {
  StartServer({"--canaries", "off"});
  one_ = StartWorker("without");
  ASSERT_TRUE(WaitFor([&] { return !Line("without").target().empty(); })) << Messages();
  std::vector<std::string> words = {Program("mlc-tune"), "--server", Address(), "--json"};
  for (const std::string& word : Kernel("twice")) words.push_back(word);
  const pid_t tune = Spawn(words, Path("tune"));
  two_ = StartWorker("with", {"--allow-user-kernels"});
  EXPECT_EQ(Wait(tune), 0) << Output("tune") << Messages();
  EXPECT_THAT(Output("tune"), HasSubstr("\"state\":\"done\""));
  EXPECT_EQ(Line("without").results(), 0);
  EXPECT_GE(Line("with").results(), 3);
  for (const pid_t worker : {one_, two_}) kill(worker, SIGTERM);
  EXPECT_EQ(Wait(one_), 0);
  EXPECT_EQ(Wait(two_), 0);
  kill(server_, SIGTERM);
  EXPECT_EQ(Wait(server_), 0);
  one_ = two_ = server_ = -1;
  const auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  int user_kernels = 0;
  const auto records = (*log)->List({});
  for (const db::Record& record : *records) {
    if (!schedule::IsUserKernel(record.config)) continue;
    ++user_kernels;
    EXPECT_EQ(record.measurement.outcome, Outcome::kOk) << record.measurement.detail;
    EXPECT_EQ(record.measurement.median_ns, 5000);
    EXPECT_EQ(record.worker, "with");
  }
  EXPECT_EQ(user_kernels, 2);
  const std::string key = graph::Workload::Parse(kWorkload)->digest().ToText();
  EXPECT_EQ(
      Wait(Spawn({Program("mlc-log"), "best", Path("tuning.db"), key, "-n", "2"}, Path("best"))), 0)
      << Output("best");
  EXPECT_THAT(Output("best"), HasSubstr("entry=twice (user-supplied)"));
}

TEST_F(UserKernelTest, WithoutAServerItIsMeasuredHere) {
  std::vector<std::string> words = {
      Program("mlc-tune"), "--log",        Path("tuning.db"), "--quiet",
      "--cubin-cache",     Path("cubins"), "--cuda-home",     kFake};
  for (const std::string& word : Kernel("twice")) words.push_back(word);
  EXPECT_EQ(Wait(Spawn(OnTheCard(words), Path("tune"))), 0) << Output("tune");
  EXPECT_THAT(Output("tune"), HasSubstr("marks it as user-supplied"));
  // One that does not compile is explained, and ends as scripts expect.
  std::ofstream(Path("k.cu"))
      << "extern \"C\" __global__ void twice(float* p) { p[0] = missing; }\n";
  EXPECT_EQ(Wait(Spawn(OnTheCard(words), Path("broken"))), 3) << Output("broken");
  EXPECT_THAT(Output("broken"), HasSubstr("the kernel ended as build_error"));
  EXPECT_THAT(Output("broken"), HasSubstr("missing"));
  words = {Program("mlc-tune")};
  for (const std::string& word : Kernel("absent")) words.push_back(word);
  EXPECT_EQ(Wait(Spawn(OnTheCard(words), Path("absent"))), 65) << Output("absent");
  EXPECT_THAT(Output("absent"), HasSubstr("the source has no function 'absent'"));
}

// A long source and three extents: through a server, a worker and the log; out of the log again to
// a library, a lock file and everything that shows records.
TEST_F(UserKernelTest, ALongKernelWithThreeExtentsGoesAllTheWay) {
  std::string source =
      "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
      "  const int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
      "  if (i < 1000) out[i] = 2 * in[i];\n}\n";
  for (int64_t i = 1; source.size() < 1'000'000; ++i) {
    source += "// " + std::to_string(i * 2654435761 % 1'000'003) + "\n";
  }
  std::ofstream(Path("k.cu")) << source;
  std::vector<std::string> kernel = Kernel("twice");
  kernel[7] = "1,2,3";
  kernel[9] = "10,20,5";
  kernel.insert(kernel.end(), {"--shared", "100000"});
  std::vector<std::string> words = {
      Program("mlc-tune"), "--log",        Path("tuning.db"), "--quiet",
      "--cubin-cache",     Path("cubins"), "--cuda-home",     kFake};
  words.insert(words.end(), kernel.begin(), kernel.end());
  EXPECT_EQ(Wait(Spawn(OnTheCardFor("1,2,3 10,20,5 100000", words), Path("tune"))), 0)
      << Output("tune");
  EXPECT_THAT(Output("tune"), HasSubstr("marks it as user-supplied"));
  const auto log = [&](std::vector<std::string> more) {
    more.insert(more.begin(), Program("mlc-log"));
    EXPECT_EQ(Wait(Spawn(more, Path("log"))), 0) << Output("log").substr(0, 2000);
    return Output("log");
  };
  const std::string key = graph::Workload::Parse(kWorkload)->digest().ToText();
  const std::string head =
      "user_kernel/1 blocks=1 blocks_y=2 blocks_z=3 threads=10 threads_y=20 threads_z=5 "
      "block_bytes=100000 entry=twice (user-supplied)";
  EXPECT_THAT(log({"best", Path("tuning.db"), key}), HasSubstr(head));
  EXPECT_THAT(log({"show", Path("tuning.db"), "1"}), HasSubstr("config: " + head + "\n"));
  const std::string explained = log({"explain", Path("tuning.db"), "1"});
  EXPECT_THAT(explained, HasSubstr(head));
  EXPECT_TRUE(explained.ends_with(source)) << explained.substr(0, 2000);
  (void)log({"export", Path("tuning.db"), Path("lines")});
  (void)log({"import", Path("imported.db"), Path("lines")});
  (void)log({"snapshot", Path("imported.db"), Path("snapshot.db")});
  (void)log({"merge", Path("merged.db"), Path("snapshot.db")});
  (void)log({"verify", Path("merged.db")});
  EXPECT_THAT(log({"best", Path("merged.db"), key}), HasSubstr(head));
}

// A user-supplied kernel in a lock file or a log may come from anybody.
TEST_F(UserKernelTest, ALibraryIsCompiledInASandbox) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
  std::ofstream(Path("tiny.onnx"), std::ios::binary) << crash::TinyModel();
  std::ofstream(Path("secret")) << "#error keep me\n";
  const auto compile = [&](std::vector<std::string> more, const std::string& messages) {
    std::vector<std::string> words = {
        Program("mlc-compile"),
        "--model",
        Path("tiny.onnx"),
        "--target",
        "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560",
        "--cubin-cache",
        "off"};
    words.insert(words.end(), more.begin(), more.end());
    return Wait(Spawn(words, Path(messages)));
  };
  ASSERT_EQ(compile({"-o", Path("tiny")}, "first"), 0) << Output("first");
  const std::string lock = Output("tiny/tiny.lock");
  const auto pin = [&](const std::string& source) {
    const std::string user_kernel =
        schedule::UserKernel{"k", source, {1, 2}, {8, 4}, 0}.ToConfig()->ToText();
    std::string text;
    std::istringstream lines(lock);
    for (std::string line; std::getline(lines, line);) {
      // task DIGEST ORIGIN NANOSECONDS CONFIG
      size_t at = 0;
      for (int i = 0; i < 4 && line.starts_with("task "); ++i) at = line.find(' ', at) + 1;
      text += at == 0 ? line + "\n" : line.substr(0, at) + user_kernel + "\n";
    }
    std::ofstream(Path("pinned")) << text;
  };
  const std::string kernel = "\nextern \"C\" __global__ void k() {}\n";
  pin(kernel);
  EXPECT_EQ(compile({"--locked", Path("pinned"), "-o", Path("user_kernel")}, "good"), 0)
      << Output("good");
  EXPECT_THAT(Output("user_kernel/report.json"), HasSubstr("\"user_kernel\": true"));
  EXPECT_EQ(compile({"--locked", Path("pinned"), "--emit=ptx"}, "ptx"), 0) << Output("ptx");
  EXPECT_THAT(Output("ptx"), HasSubstr(".entry k"));
  for (const std::string& path : {Path("secret"), std::string("/etc/passwd"),
                                  std::string("/proc/self/environ"), std::string("/dev/zero")}) {
    for (const std::string& line :
         {"#include \"" + path + "\"",
          "#if __has_include(\"" + path + "\")\n#error keep me\n#endif\n#error it goes on"}) {
      pin(line + kernel);
      for (const std::vector<std::string>& way :
           {std::vector<std::string>{"-o", Path("stolen")}, {"--emit=ptx"}}) {
        std::vector<std::string> words = {"--locked", Path("pinned")};
        words.insert(words.end(), way.begin(), way.end());
        EXPECT_EQ(compile(words, "refused"), 65) << Output("refused");
        EXPECT_THAT(Output("refused"), HasSubstr("the CUDA compiler refuses the source"));
        EXPECT_THAT(Output("refused"), Not(HasSubstr("keep me")));
        EXPECT_THAT(Output("refused"), Not(HasSubstr("root:")));
      }
    }
  }
}

// Leases one user-supplied kernel to whoever calls, and keeps what comes back.
class HostileServer : public proto::Workers::Service {
 public:
  explicit HostileServer(std::string config) : config_(std::move(config)) {}

  grpc::Status Synchronize(grpc::ServerContext*, const proto::SynchronizeRequest* request,
                           proto::SynchronizeReply* reply) override {
    std::lock_guard lock(mutex_);
    capabilities_ = request->capabilities();
    reply->set_next_poll_ms(10);
    for (const proto::TrialResult& result : request->finished()) {
      result_ = result.measurement();
      reply->add_acknowledged(result.task_uid());
      came_.notify_all();
    }
    if (std::exchange(leased_, true)) return grpc::Status::OK;
    proto::Lease& lease = *reply->add_leases();
    lease.set_task_uid("0123456789abcdef");
    lease.set_workload(graph::Workload::Parse(kWorkload)->ToText());
    lease.set_config(config_);
    lease.set_seed(1);
    lease.set_attempt(1);
    lease.set_lease_ms(60'000);
    return grpc::Status::OK;
  }
  std::optional<proto::Measurement> Result() {
    std::unique_lock lock(mutex_);
    (void)came_.wait_for(lock, kTimeout, [&] { return result_.has_value(); });
    return result_;
  }
  proto::Capabilities capabilities() {
    std::lock_guard lock(mutex_);
    return capabilities_;
  }

 private:
  const std::string config_;
  std::mutex mutex_;
  std::condition_variable came_;
  bool leased_ = false;
  proto::Capabilities capabilities_;
  std::optional<proto::Measurement> result_;
};

TEST_F(UserKernelTest, AHostileServerGetsNoneOfItsCodeRun) {
  const std::string config =
      schedule::UserKernel{"twice", kSource, 1, 1000, 0}.ToConfig()->ToText();
  // As a server of ours writes it, and so that a comparison of texts would miss it.
  for (const std::string& text : {config, " \n# nothing to see\n" + config}) {
    HostileServer service(text);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    one_ = StartWorker("honest");
    const auto result = service.Result();
    ASSERT_TRUE(result.has_value()) << Messages();
    EXPECT_EQ(result->outcome(), proto::INFRA);
    EXPECT_THAT(result->detail(), HasSubstr("started without --allow-user-kernels"));
    const proto::Capabilities told = service.capabilities();
    EXPECT_GT(told.kernels_size(), 0);
    for (const std::string& kernel : told.kernels()) {
      EXPECT_THAT(kernel, Not(HasSubstr("user_kernel")));
    }
    kill(one_, SIGTERM);
    EXPECT_EQ(Wait(one_), 0) << Messages();
    one_ = -1;
    server->Shutdown(std::chrono::system_clock::now());
    std::filesystem::remove(Path("socket"));
  }
}

}  // namespace
}  // namespace mlc::e2e
