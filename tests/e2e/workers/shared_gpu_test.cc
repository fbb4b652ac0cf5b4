// Two workers as processes on one card that pretends: both make progress, and the card never runs
// kernels of one while the other has its turn.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "compiler/build/nvrtc.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"
#include "tests/e2e/workers/lab.h"

namespace mlc::e2e {
namespace {

using crash::Spawn;
using crash::Wait;

constexpr char kFake[] = MLC_FAKE_CUDA;

class SharedGpuTest : public Lab {
 protected:
  void SetUp() override {
    if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
    // Held by the driver around every launch: see the fake driver.
    std::ofstream(Path("card")).close();
    StartServer({"--canaries", "off"});
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
  // All of them double 1000 numbers, which is what the card computes.
  std::string Submit(const std::vector<std::string>& shapes, int64_t trials) {
    std::vector<std::string> workloads;
    for (const std::string& shape : shapes) {
      const std::string type = " : f32[" + shape + "]\n";
      workloads.push_back("workload v1 tolerance=1e-05 {\n%0 = input()" + type +
                          "%1 = add(%0, %0)" + type + "return %1\n}\n");
    }
    return Lab::Submit(workloads, Line("one").target(), trials, /*batch=*/4);
  }
};

TEST_F(SharedGpuTest, TwoWorkersOfOneCardTakeTurns) {
  one_ = StartWorker("one");
  two_ = StartWorker("two");
  ASSERT_TRUE(WaitFor([&] {
    return !Line("one").target().empty() && !Line("two").target().empty();
  })) << Messages();
  ASSERT_EQ(Line("one").target().substr(0, 26), "target v1 cuda arch=sm_90a");
  // More work where one worker was so slow to begin that the other one did all.
  const std::vector<std::string> works[] = {{"1000", "10,100", "100,10", "20,50", "50,20", "8,125"},
                                            {"125,8", "4,250", "250,4", "5,200", "200,5", "25,40"},
                                            {"40,25", "2,500", "500,2", "2,20,25", "5,2,100"}};
  for (const std::vector<std::string>& work : works) {
    const std::string job = Submit(work, 60);
    ASSERT_TRUE(WaitForEnd(job)) << Messages();
    EXPECT_GT(Progress(job).gpu_busy(), 0);
    EXPECT_LE(Progress(job).gpu_busy(), 1);
    if (Line("one").results() > 0 && Line("two").results() > 0) break;
  }
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
  EXPECT_TRUE(Said("GPU busy ")) << Messages();
}

}  // namespace
}  // namespace mlc::e2e
