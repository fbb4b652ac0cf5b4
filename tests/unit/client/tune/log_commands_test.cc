#include "client/log/log_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/log/coverage.h"
#include "compiler/schedule/space/family.h"
#include "db/report/explain.h"
#include "db/sqlite/sqlite_log.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LogCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/mlc-log-commands";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.file = folder_ + "/a.db";
    graph::Graph graph;
    graph::TensorType left, right;
    left.dims = {64, 128};
    right.dims = {128, 96};
    graph::Value product;
    product.op = graph::Op::kMatMul;
    product.operands = {graph.Input(left), graph.Input(right)};
    product.type.dims = {64, 96};
    graph.outputs() = {graph.Add(product)};
    workload_ = *graph::Workload::Create(std::move(graph), 1e-4);
    target_ = target::DetectHost(1);
    families_ = schedule::FamiliesFor(*workload_, target_);
    ASSERT_FALSE(families_.empty());
    auto log = db::OpenSqliteLog(options_.file);
    ASSERT_TRUE(
        (*log)->AddWorkload({workload_->digest(), workload_->ToText(), workload_->Summary()}).ok());
    Append(**log, families_[0]->Default(*workload_, target_).ToText(), 5000);
    Append(**log, "contraction/99 mr=1", 100);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Append(db::TuningLog& log, const std::string& config, double ns) {
    db::Record record;
    record.task_uid = mlc::DigestOf(std::string_view(config));
    record.workload = workload_->digest();
    record.target = target_.ClassText();
    record.config = config;
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = record.measurement.p10_ns = record.measurement.p90_ns = ns;
    record.measurement.runs = 5;
    record.measurement.build_ms = 18.5;
    record.measurement.clock_mhz = 3100;
    record.arm = "default";
    ASSERT_TRUE(db::AppendAndWait(log, record).ok());
  }

  std::string folder_;
  LogOptions options_;
  std::optional<graph::Workload> workload_;
  target::Target target_;
  std::vector<const schedule::Family*> families_;
};

TEST_F(LogCommandsTest, BestLeavesOldVersionsOut) {
  const Result<std::string> text = BestCommand(options_, {workload_->digest()});
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("5000 ns"));
  options_.json = true;
  const auto json = nlohmann::json::parse(*BestCommand(options_, {workload_->digest()}));
  EXPECT_EQ(json["best"][0]["records"].size(), 1u);
  EXPECT_EQ(json["best"][0]["records"][0]["median_ns"], 5000);
}

TEST_F(LogCommandsTest, AWorkloadIsADigestOrAFile) {
  std::ofstream(folder_ + "/w.txt") << workload_->ToText();
  EXPECT_EQ(*WorkloadKeyOf(folder_ + "/w.txt"), workload_->digest());
  EXPECT_EQ(*WorkloadKeyOf(workload_->digest().ToText()), workload_->digest());
  EXPECT_EQ(WorkloadKeyOf("nonsense").status().code(), StatusCode::kNotFound);
}

TEST_F(LogCommandsTest, ListShowStatsVerify) {
  EXPECT_THAT(*ListCommand(options_, ""), HasSubstr(workload_->digest().ToText()));
  options_.limit = 10;
  EXPECT_THAT(*ListCommand(options_, workload_->digest().ToText()), HasSubstr("contraction/99"));
  EXPECT_THAT(*ShowCommand(options_, "2"), HasSubstr("config: contraction/99 mr=1"));
  EXPECT_EQ(ShowCommand(options_, "77").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(*StatsCommand(options_), HasSubstr("1 workloads, 2 records"));
  bool sound = false;
  EXPECT_THAT(*VerifyCommand(options_, sound), HasSubstr("sound: 1 workloads, 2 records"));
  EXPECT_TRUE(sound);
}

TEST_F(LogCommandsTest, ExplainSpeaksOfCachesAndOfTheSpace) {
  const Result<std::string> text = ExplainCommand(options_, workload_->digest().ToText());
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr("arithmetic: "));
  EXPECT_THAT(*text, HasSubstr("tried as 'default'"));
  EXPECT_THAT(*text, HasSubstr("\nfigures: build 18.5 ms, clock 3100 MHz, machine speed 1\n"));
  EXPECT_THAT(*text, HasSubstr("space: "));
  EXPECT_THAT(*text, HasSubstr("legal"));
  EXPECT_EQ(ExplainCommand(options_, "2").status().code(), StatusCode::kFailedPrecondition);
}

// A product of 32 bits on matrix units has half of their peak at its disposal.
TEST_F(LogCommandsTest, ExplainJudgesAKernelForGpusByTheGpu) {
  const target::Target gpu = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=66908 "
      "tensor_gflops=1070530 copy_gbps=4150");
  const schedule::Family* family = schedule::FindFamily("tensor_contraction");
  ASSERT_TRUE(family->Accepts(*workload_, gpu));
  const schedule::Config config = family->Default(*workload_, gpu);
  const schedule::KernelFacts facts = family->Facts(*workload_, gpu, config);
  ASSERT_EQ(facts.tensor_flops, facts.flops);
  db::Record record;
  record.config = config.ToText();
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = facts.flops / (gpu.gpu().tensor_gflops / 2) * 4;
  const Result<std::string> text = report::Explain(*workload_, gpu, record);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_THAT(*text, HasSubstr(" = 25% of the measured peak\n"));
  EXPECT_THAT(*text, HasSubstr(" of a thread, "));
  EXPECT_THAT(*text, HasSubstr("shared memory: its block of "));
  EXPECT_THAT(*text, HasSubstr(" for 132 multiprocessors, "));
  EXPECT_THAT(*text, HasSubstr("its blocks leave multiprocessors idle"));
  EXPECT_THAT(*text, Not(HasSubstr("L3")));
  EXPECT_THAT(*text, Not(HasSubstr("vector lanes")));
}

TEST_F(LogCommandsTest, CoverageSaysWhichValuesWereTried) {
  const std::string target = target_.ClassText();
  const schedule::Space space = families_[0]->MakeSpace(*workload_, target_);
  const schedule::Config best = families_[0]->Default(*workload_, target_);
  std::vector<db::Record> records(3);
  records[0].config = best.ToText();
  records[0].measurement.outcome = Outcome::kOk;
  records[0].measurement.median_ns = 5000;
  records[1] = records[0];  // measured again
  records[1].measurement.median_ns = 6000;
  records[2].config = "contraction/99 mr=1";
  const auto coverage = CoverageOf(*workload_, target, records);
  ASSERT_TRUE(coverage.ok()) << coverage.status().message();
  ASSERT_EQ(coverage->size(), 1u);
  const SpaceCoverage& of = coverage->front();
  EXPECT_EQ(of.space,
            std::string(families_[0]->name()) + "/" + std::to_string(families_[0]->version()));
  EXPECT_EQ(of.points, space.NumPoints());
  EXPECT_EQ(of.configs, 1);
  EXPECT_GT(of.legal_share, 0);
  EXPECT_LE(of.legal_share, 1);
  EXPECT_EQ(of.best_ns, 5000);
  ASSERT_EQ(of.knobs.size(), space.knobs.size());
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    EXPECT_EQ(of.knobs[k].name, space.knobs[k].name);
    int64_t tried = 0;
    for (const ValueCoverage& value : of.knobs[k].values) {
      tried += value.tried;
      if (value.tried == 0) continue;
      EXPECT_EQ(value.value, std::to_string(best[of.knobs[k].name]));
      EXPECT_EQ(value.best_ns, 5000);
    }
    EXPECT_EQ(tried, 2) << of.knobs[k].name;
  }
  const auto text = CoverageCommand(options_, {workload_->digest()});
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_THAT(*text, HasSubstr("(untried)"));
  EXPECT_THAT(*text, HasSubstr("best 5.000 us"));
  options_.json = true;
  const auto json = nlohmann::json::parse(*CoverageCommand(options_, {workload_->digest()}));
  EXPECT_EQ(json["coverage"][0]["spaces"][0]["configs"], 1);
  EXPECT_EQ(CoverageCommand(options_, {Digest{1, 2}}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace mlc::client
