#include "client/progress/worker_list.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/state/state_json.h"

namespace mlc::client {
namespace {

constexpr char kCpu[] =
    "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=33554432";
constexpr char kGpu[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";

proto::ListWorkersReply TwoWorkers() {
  proto::ListWorkersReply workers;
  proto::WorkerLine& first = *workers.add_workers();
  first.set_worker("gpu-7");
  first.set_state(proto::QUARANTINED);
  first.set_reason("two canaries failed");
  first.set_target(std::string(kGpu) + " fma_gflops=60000.0 tensor_gflops=0.0 copy_gbps=0.0");
  first.mutable_capabilities()->set_devices(4);
  first.set_results(12);
  first.set_failures(3);
  first.set_silent_ms(125'000);
  first.set_canary_age_ms(-1);
  proto::WorkerLine& second = *workers.add_workers();
  second.set_worker("rack1");
  second.set_state(proto::READY);
  second.set_target(std::string(kCpu) + " fma_gflops=357.0 copy_gbps=26.6");
  second.set_holding(4);
  second.set_results(1200);
  second.set_silent_ms(300);
  return workers;
}

TEST(WorkerListTest, ATableSaysWhyAWorkerGetsNothing) {
  EXPECT_EQ(WorkersTable(TwoWorkers()),
            "WORKER  STATE        CLASS             HOLDS  RESULTS  FAILURES  HEARD  REASON\n"
            "gpu-7   quarantined  sm_90a x132       0      12       3         2m     two canaries "
            "failed\n"
            "rack1   ready        x86_64 avx512 x2  4      1200     0         0s     -\n");
  EXPECT_EQ(WorkersTable({}), "WORKER  STATE  CLASS  HOLDS  RESULTS  FAILURES  HEARD  REASON\n");
}

TEST(WorkerListTest, JsonHasClassesAsTheLogNamesThem) {
  const auto json = nlohmann::json::parse(server::WorkersJson(TwoWorkers()));
  EXPECT_EQ(json["schema"], "mlc.workers/1");
  ASSERT_EQ(json["workers"].size(), 2u);
  EXPECT_EQ(json["workers"][0]["state"], "quarantined");
  EXPECT_EQ(json["workers"][0]["reason"], "two canaries failed");
  EXPECT_EQ(json["workers"][0]["class"], kGpu);
  EXPECT_EQ(json["workers"][0]["canary_age_ms"], -1);
  EXPECT_EQ(json["workers"][0]["devices"], 4);
  EXPECT_EQ(json["workers"][1]["class"], kCpu);
  EXPECT_EQ(json["workers"][1]["devices"], 1) << "not told";
  EXPECT_EQ(json["workers"][1]["holding"], 4);
}

}  // namespace
}  // namespace mlc::client
