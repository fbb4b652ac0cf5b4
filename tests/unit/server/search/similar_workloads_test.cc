#include "costmodel/history/similar_workloads.h"

#include <gtest/gtest.h>

#include "costmodel/default_config.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::server {
namespace {

using costmodel::MakeConv;

class SimilarWorkloadsTest : public ::testing::Test {
 protected:
  SimilarWorkloadsTest() {
    target_.cpu().isa = target::Isa::kAvx512;
    target_.cpu().threads = 2;
  }

  std::string Default(const graph::Workload& workload) const {
    return costmodel::DefaultConfig(workload, target_)->ToText();
  }
  void Add(const graph::Workload& workload, const std::string& config, double ns,
           const std::string& target) {
    ASSERT_TRUE(log_->AddWorkload({workload.digest(), workload.ToText(), ""}).ok());
    db::Record record;
    record.task_uid = DigestOf("record " + std::to_string(++count_));
    record.workload = workload.digest();
    record.target = target;
    record.config = config;
    record.measurement.outcome = Outcome::kOk;
    record.measurement.median_ns = record.measurement.p10_ns = record.measurement.p90_ns = ns;
    record.measurement.runs = 9;
    record.arm = arm_;
    record.created_us = count_;
    const auto added = AppendAndWait(*log_, record);
    ASSERT_TRUE(added.ok()) << added.status().ToString();
  }
  void Add(const graph::Workload& workload, const std::string& config, double ns) {
    Add(workload, config, ns, target_.ClassText());
  }
  std::vector<const costmodel::SimilarWorkload*> Near(SimilarWorkloads& similar_workloads,
                                                      const graph::Workload& workload) {
    auto nearest = similar_workloads.For(workload);
    EXPECT_TRUE(nearest.ok()) << nearest.status().ToString();
    return *std::move(nearest);
  }

  target::Target target_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  WorkloadIndex index_{*log_};
  int count_ = 0;
  std::string arm_ = "model";
  graph::Workload one_ = MakeConv(64, 28, 128, 3), four_ = MakeConv(64, 28, 128, 3, 4);
};

TEST_F(SimilarWorkloadsTest, TheIndexKnowsTheNewestWorkloadsAndNoMore) {
  const auto add = [this](int64_t from, int64_t to) {
    for (int64_t n = from; n < to; ++n) {
      const graph::Workload workload = MakeConv(64, 28, 128, 3, n);
      ASSERT_TRUE(log_->AddWorkload({workload.digest(), workload.ToText(), ""}).ok());
    }
  };
  add(1, 301);
  WorkloadIndex index(*log_, 10);
  const costmodel::Problem last = costmodel::DescribeProblem(MakeConv(64, 28, 128, 3, 300));
  ASSERT_TRUE(index.Near(last).ok());
  EXPECT_EQ(index.size(), 10) << "of those that were there";
  EXPECT_EQ(index.Near(last)->front(), MakeConv(64, 28, 128, 3, 300).digest());
  for (int64_t n = 301; n < 700; n += 3) {
    add(n, n + 3);
    ASSERT_TRUE(index.Near(last).ok());
    ASSERT_GE(index.size(), 10);
    ASSERT_LE(index.size(), 15) << "and of those that came";
  }
  const costmodel::Problem newest = costmodel::DescribeProblem(MakeConv(64, 28, 128, 3, 699));
  EXPECT_EQ(index.Near(newest)->front(), MakeConv(64, 28, 128, 3, 699).digest());
}

TEST_F(SimilarWorkloadsTest, TheFastestOfTheNearestWorkloadsComeWithTheirSources) {
  Add(MakeConv(64, 28, 64, 3), "contraction/1 a=1", 700);
  Add(one_, Default(one_), 900);
  Add(one_, "contraction/1 a=2", 800);
  Add(four_, "contraction/1 a=3", 1);
  Add(MakeConv(64, 28, 128, 1), "contraction/1 a=1", 5);
  SimilarWorkloads similar_workloads(*log_, index_, target_.ClassText());
  const auto nearest = Near(similar_workloads, four_);
  ASSERT_EQ(nearest.size(), 2u) << "neither itself nor another kind";
  EXPECT_EQ(nearest[0]->workload.digest(), one_.digest());
  ASSERT_EQ(nearest[0]->best.size(), 2u);
  EXPECT_EQ(nearest[0]->best[0].config.ToText(), "contraction/1 a=2");
  EXPECT_EQ(nearest[0]->best[0].ns, 800);
  EXPECT_EQ(nearest[0]->default_ns, 900);
  EXPECT_EQ(nearest[1]->default_ns, 0) << "not measured";
  const SimilarWorkloads::Source& source = similar_workloads.SourceOf(*nearest[0]);
  EXPECT_EQ(source.workload, one_.digest());
  EXPECT_EQ(source.records[0], DigestOf(std::string("record 3")));
}

TEST_F(SimilarWorkloadsTest, TimesAreComparedWithTimesOfTheirKind) {
  Add(one_, Default(one_), 900);
  Add(one_, "contraction/1 a=2", 800);
  Add(one_, "contraction/1 a=3", 790);
  arm_ = "verify";  // later, on a slower clock
  Add(one_, "contraction/1 a=3", 990);
  Add(one_, "contraction/1 a=2", 980);
  SimilarWorkloads similar_workloads(*log_, index_, target_.ClassText());
  const costmodel::SimilarWorkload& similar = *Near(similar_workloads, four_)[0];
  ASSERT_EQ(similar.best.size(), 3u);
  EXPECT_EQ(similar.default_ns, 900);
  for (const costmodel::Timed& timed : similar.best) {
    if (timed.config.ToText() == "contraction/1 a=2") {
      EXPECT_EQ(timed.ns, 800);
    }
    if (timed.config.ToText() == "contraction/1 a=3") {
      EXPECT_EQ(timed.ns, 790);
    }
  }
}

TEST_F(SimilarWorkloadsTest, OtherTargetsAndLaterRecordsDoNotCount) {
  Add(one_, "contraction/1 a=1", 700, "target of another kind");
  SimilarWorkloads elsewhere(*log_, index_, target_.ClassText());
  EXPECT_TRUE(Near(elsewhere, four_).empty());
  Add(one_, "contraction/1 a=2", 900);
  const int64_t then = log_->Stats()->last_id;
  Add(one_, "contraction/1 a=3", 800);
  SimilarWorkloads similar_workloads(*log_, index_, target_.ClassText(), then);
  const auto nearest = Near(similar_workloads, four_);
  ASSERT_EQ(nearest.size(), 1u);
  ASSERT_EQ(nearest[0]->best.size(), 1u);
  EXPECT_EQ(nearest[0]->best[0].ns, 900);
}

}  // namespace
}  // namespace mlc::server
