// Jobs that measure one user-supplied kernel: who may, which workers get it, what is compared with
// what, and what other jobs see of it.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/rng.h"
#include "base/wire/protocol.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "costmodel/default_config.h"
#include "db/confirmed_best.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr char kGpu[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";
constexpr char kSource[] =
    "extern \"C\" __global__ void negate(const float* in, float* out) {\n"
    "  out[threadIdx.x] = -in[threadIdx.x];\n}\n";

graph::Workload Task() { return MakeWorkload(64); }

class UserKernelTest : public TunerTest {
 protected:
  static proto::SubmitUserKernelRequest UserKernelRequest() {
    proto::SubmitUserKernelRequest request;
    proto::Task& task = *request.mutable_job()->add_tasks();
    task.set_workload(Task().ToText());
    task.set_occurrences(1);
    request.mutable_job()->set_target(kGpu);
    request.mutable_kernel()->set_entry("negate");
    request.mutable_kernel()->set_source(kSource);
    proto::UserKernel& kernel = *request.mutable_kernel();
    kernel.set_blocks(1), kernel.set_blocks_y(1), kernel.set_blocks_z(1);
    kernel.set_threads(64), kernel.set_threads_y(1), kernel.set_threads_z(1);
    return request;
  }
  std::string SubmitOne(const proto::SubmitUserKernelRequest& request = UserKernelRequest()) {
    const auto reply = tuner_->SubmitUserKernel(request, Caller{"root", Role::kAdmin});
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply.ok() ? reply->job() : "";
  }
  static proto::SynchronizeRequest Gpu(const std::string& name,
                                       const std::vector<std::string>& kernels) {
    proto::SynchronizeRequest request = Hello();
    request.set_worker(name);
    request.set_target(std::string(kGpu) + " fma_gflops=60000.0 copy_gbps=4300.0");
    for (const std::string& kernel : kernels) request.mutable_capabilities()->add_kernels(kernel);
    return request;
  }
  static Measurement Took(double ns) {
    Measurement m;
    m.outcome = Outcome::kOk;
    m.median_ns = m.p10_ns = m.p90_ns = ns;
    m.runs = 11;
    return m;
  }
  // Until the worker has a lease or the job has ended.
  std::vector<proto::Lease> Leases(const std::string& job, proto::SynchronizeRequest request) {
    for (;;) {
      const auto reply = Call(request);
      EXPECT_TRUE(reply.ok()) << reply.status().ToString();
      request.clear_finished();
      if (reply->leases_size() > 0) return {reply->leases().begin(), reply->leases().end()};
      if (tuner_->Progress(job)->state() != proto::RUNNING) return {};
      std::this_thread::yield();
    }
  }
  static void Answer(proto::SynchronizeRequest& request, const proto::Lease& lease,
                     const Measurement& measurement) {
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(lease.task_uid());
    *result.mutable_measurement() = ToWire(measurement);
  }
  // The whole job, where the kernel takes `ns` and everything else 5000.
  std::vector<std::string> RunRaw(const std::string& job, double ns) {
    std::vector<std::string> configs;
    proto::SynchronizeRequest request = Gpu("g", {"user_kernel/1"});
    for (;;) {
      const std::vector<proto::Lease> leases = Leases(job, request);
      if (leases.empty()) return configs;
      request.clear_finished();
      for (const proto::Lease& lease : leases) {
        configs.push_back(lease.config());
        Answer(request, lease, Took(schedule::IsUserKernel(lease.config()) ? ns : 5000));
      }
    }
  }
  static std::string Default() {
    const target::Target target = *target::Target::Parse(kGpu);
    return costmodel::DefaultConfig(Task(), target)->ToText();
  }
  std::vector<db::Record> Best() {
    return *db::BestConfigs(*log_, Task().digest(), target::Target::Parse(kGpu)->ClassText(), 8);
  }
};

TEST_F(UserKernelTest, IsForAdministrators) {
  for (const Role role : {Role::kRead, Role::kSubmit, Role::kWork}) {
    const Status refused =
        tuner_->SubmitUserKernel(UserKernelRequest(), Caller{"x", role}).status();
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
    EXPECT_THAT(refused.message(), HasSubstr("it requires the role admin"));
  }
  EXPECT_TRUE(tuner_->SubmitUserKernel(UserKernelRequest(), Caller{"root", Role::kAdmin}).ok());
  EXPECT_TRUE(tuner_->SubmitUserKernel(UserKernelRequest(), Caller::Local()).ok());
}

TEST_F(UserKernelTest, WhatNobodyCouldRunIsRefusedAtOnce) {
  const auto why = [&](const auto& change) {
    proto::SubmitUserKernelRequest request = UserKernelRequest();
    change(request);
    const Status status = tuner_->SubmitUserKernel(request, Caller::Local()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.ToString();
    return status.message();
  };
  EXPECT_THAT(why([](auto& r) { r.mutable_job()->clear_tasks(); }), HasSubstr("no tasks"));
  EXPECT_THAT(why([](auto& r) {
                proto::Task& task = *r.mutable_job()->add_tasks();
                task.set_workload(MakeWorkload(8).ToText());
                task.set_occurrences(1);
              }),
              HasSubstr("for one workload"));
  EXPECT_THAT(why([](auto& r) { r.mutable_job()->set_target(TargetText()); }),
              HasSubstr("CUDA kernel cannot run on"));
  EXPECT_THAT(why([](auto& r) { r.clear_kernel(); }), HasSubstr("blocks"));
  EXPECT_THAT(why([](auto& r) { r.mutable_kernel()->set_threads_z(0); }), HasSubstr("threads"));
  EXPECT_THAT(why([](auto& r) { r.mutable_kernel()->set_entry("other"); }),
              HasSubstr("no function 'other'"));
  EXPECT_THAT(why([](auto& r) { r.mutable_kernel()->set_block_bytes(300'000); }),
              HasSubstr("sm_90a has 232448"));
  EXPECT_THAT(why([](auto& r) { r.mutable_kernel()->set_source(std::string(2'000'000, ' ')); }),
              HasSubstr("at most 1 MiB is accepted"));
}

TEST_F(UserKernelTest, OnlyWorkersThatSaySoGetIt) {
  const std::string job = SubmitOne();
  const std::vector<std::string> families = {schedule::Config::Parse(Default())->family + "/1"};
  // One that tells its families, and one that does not tell: all are assumed, but for this.
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Call(Gpu("without", families))->leases_size(), 0);
    EXPECT_EQ(Call(Gpu("silent", {}))->leases_size(), 0);
    std::this_thread::yield();
  }
  const auto detail = [&] { return tuner_->Progress(job)->detail(); };
  while (detail().find("--allow-user-kernels") == std::string::npos) std::this_thread::yield();
  EXPECT_THAT(detail(), HasSubstr("that builds user_kernel/1 (mlc-worker --allow-user-kernels)"));
  EXPECT_THAT(detail(), HasSubstr("connected: 2 of target v1 cuda"));
  const auto leases = Leases(job, Gpu("with", {"user_kernel/1"}));
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(detail(), "");
  EXPECT_TRUE(schedule::IsUserKernel(leases[0].config()));
  EXPECT_EQ(leases[0].early_stop_ns(), 0);
  EXPECT_EQ(Call(Gpu("without", families))->leases_size(), 0);
}

// With a source as long as one may be.
TEST_F(UserKernelTest, AKernelGoesToWorkersOfItsVersionAloneAndWhole) {
  proto::SubmitUserKernelRequest request = UserKernelRequest();
  request.mutable_kernel()->set_blocks_y(3);
  request.mutable_kernel()->set_threads(8);
  request.mutable_kernel()->set_threads_z(4);
  std::string& source = *request.mutable_kernel()->mutable_source();
  for (Rng rng(3); source.size() < (size_t{1} << 20);) {
    if (source.size() % 100 == 0) source += "\n//";
    source += static_cast<char>('!' + rng.Below(90));
  }
  source.resize(size_t{1} << 20);
  const std::string job = SubmitOne(request);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Call(Gpu("newer", {"user_kernel/2"}))->leases_size(), 0);
    std::this_thread::yield();
  }
  const auto leases = Leases(job, Gpu("both", {"user_kernel/1", "user_kernel/2"}));
  ASSERT_EQ(leases.size(), 1u);
  const auto user_kernel =
      schedule::UserKernel::FromConfig(*schedule::Config::Parse(leases[0].config()));
  ASSERT_TRUE(user_kernel.ok()) << user_kernel.status().ToString();
  EXPECT_EQ(user_kernel->grid, target::Dim3(1, 3, 1));
  EXPECT_EQ(user_kernel->block, target::Dim3(8, 1, 4));
  EXPECT_EQ(user_kernel->source, source);
  proto::SynchronizeRequest answer = Gpu("both", {"user_kernel/1", "user_kernel/2"});
  Answer(answer, leases[0], Took(4000));
  ASSERT_EQ(Leases(job, answer).size(), 2u) << "beside its rival";
  ASSERT_FALSE(Best().empty());
  EXPECT_EQ(Best()[0].config, leases[0].config());
}

TEST_F(UserKernelTest, IsMeasuredBesideTheDefaultAndBestWhereItIsFaster) {
  const std::string job = SubmitOne();
  const std::vector<std::string> configs = RunRaw(job, 4000);
  ASSERT_EQ(configs.size(), 3u);
  EXPECT_EQ(configs[0], configs[1]);
  EXPECT_EQ(configs[2], Default());
  const auto progress = tuner_->Progress(job);
  EXPECT_EQ(progress->state(), proto::DONE);
  EXPECT_EQ(progress->detail(), "");
  EXPECT_EQ(progress->tasks(0).best_ns(), 4000);
  EXPECT_EQ(progress->tasks(0).default_ns(), 5000);
  EXPECT_EQ(progress->tasks(0).best_config(), configs[0]);
  ASSERT_EQ(Best().size(), 2u);
  EXPECT_EQ(Best()[0].config, configs[0]);
  EXPECT_EQ(Best()[0].arm, db::kConfirmationArm) << "as its rival was measured";
  EXPECT_EQ(Best()[1].arm, db::kConfirmationArm);
  // The same again is answered by the log, and makes no trial.
  EXPECT_EQ(SubmitOne(), job);
  EXPECT_TRUE(RunRaw(job, 1).empty());
}

TEST_F(UserKernelTest, ASlowerOneIsNoBest) {
  const std::string job = SubmitOne();
  (void)RunRaw(job, 9000);
  EXPECT_EQ(tuner_->Progress(job)->tasks(0).best_ns(), 5000);
  EXPECT_EQ(Best()[0].config, Default());
}

TEST_F(UserKernelTest, OneThatFailsIsExplainedAndHasNoTime) {
  const std::string job = SubmitOne();
  proto::SynchronizeRequest request = Gpu("g", {"user_kernel/1"});
  const auto leases = Leases(job, request);
  ASSERT_EQ(leases.size(), 1u);
  Measurement wrong;
  wrong.outcome = Outcome::kWrongResult;
  wrong.detail = "output 0: element [3] is 1\ninstead of 2";
  Answer(request, leases[0], wrong);
  EXPECT_TRUE(Leases(job, request).empty());
  const auto progress = tuner_->Progress(job);
  EXPECT_EQ(progress->state(), proto::DONE);
  EXPECT_EQ(progress->tasks(0).best_ns(), 0);
  EXPECT_THAT(progress->detail(),
              HasSubstr("after 1 of 3 trials: the kernel ended as wrong_result: output 0: element "
                        "[3] is 1 instead of 2"));
  EXPECT_TRUE(Best().empty());
}

TEST_F(UserKernelTest, AnotherServerGoesOnWithIt) {
  const std::string job = SubmitOne();
  proto::SynchronizeRequest request = Gpu("g", {"user_kernel/1"});
  const auto leases = Leases(job, request);
  ASSERT_EQ(leases.size(), 1u);
  Answer(request, leases[0], Took(4000));
  ASSERT_EQ(Call(request)->acknowledged_size(), 1);
  Restart();
  EXPECT_EQ(RunRaw(job, 4000).size(), 2u) << "the first trial is in the log";
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

TEST_F(UserKernelTest, NoSearchHearsOfIt) {
  (void)RunRaw(SubmitOne(), 4000);
  // A job on the same workload, and one on a workload like it.
  for (const int64_t size : {64, 65}) {
    proto::SubmitJobRequest request = Request(4);
    request.clear_tasks();
    proto::Task& task = *request.add_tasks();
    task.set_workload(MakeWorkload(size).ToText());
    task.set_occurrences(1);
    request.set_target(kGpu);
    const std::string job = tuner_->Submit(request, Caller::Local())->job();
    std::vector<proto::Lease> leases;
    do {
      leases = Leases(job, Gpu("g", {}));
      ASSERT_FALSE(leases.empty());
      // Until the job before has heard that it is cancelled, the worker may get trials of it.
    } while (leases[0].workload() != task.workload());
    for (const proto::Lease& lease : leases) EXPECT_FALSE(schedule::IsUserKernel(lease.config()));
    EXPECT_THAT(knowledge_, HasSubstr(Default())) << "its rival is a trial as any other";
    EXPECT_EQ(knowledge_.find("user_kernel"), std::string::npos) << knowledge_;
    ASSERT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
  }
  // Builds get it where they say that they take it.
  proto::BestRequest request;
  request.add_workloads(Task().digest().ToText());
  request.set_target(target::Target::Parse(kGpu)->ClassText());
  request.add_kernels(Default().substr(0, Default().find(' ')));
  EXPECT_EQ(tuner_->Best(request)->best(0).config(), Default());
  request.add_kernels("user_kernel/1");
  EXPECT_TRUE(schedule::IsUserKernel(tuner_->Best(request)->best(0).config()));
}

}  // namespace
}  // namespace mlc::server
