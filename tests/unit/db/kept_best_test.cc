#include "db/kept_best.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/rng.h"
#include "db/confirmed_best.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

class KeptBestTest : public LogFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(log_->AddWorkload(TheWorkload()).ok()); }

  // In the job with this number, after all before it.
  void Add(int job, const std::string& config, double ns, const char* arm = "model") {
    Record record = MakeRecord(++count_, ns);
    record.job_id = mlc::DigestOf("job " + std::to_string(job));
    record.config = config;
    record.arm = arm;
    ASSERT_TRUE(AppendAndWait(*log_, record).ok());
  }
  static std::string Kept(const TuningLog& log, const AcceptConfig& accept = {}) {
    const auto kept = KeptBest(log, TheWorkload().key, "cpu", accept);
    EXPECT_TRUE(kept.ok()) << kept.status().ToString();
    if (!kept.ok() || !*kept) return "";
    return (**kept).config + " " + std::to_string(static_cast<int>((**kept).measurement.median_ns));
  }
  std::string Kept(const AcceptConfig& accept = {}) const { return Kept(*log_, accept); }
  std::string Fastest() const {
    return BestConfigs(*log_, TheWorkload().key, "cpu", 1)->front().config;
  }

  std::unique_ptr<TuningLog> log_ = MakeMemoryLog();
  int count_ = 0;
};

TEST_F(KeptBestTest, WithoutCorrectRecordsThereIsNone) {
  EXPECT_EQ(Kept(), "");
  Record failed = MakeRecord(1);
  failed.measurement = {};
  failed.measurement.outcome = Outcome::kRunError;
  ASSERT_TRUE(AppendAndWait(*log_, failed).ok());
  EXPECT_EQ(Kept(), "");
}

TEST_F(KeptBestTest, TheFirstJobsFastestConfigWins) {
  Add(1, "a/1 x=1", 1000);
  Add(1, "a/1 x=2", 990);
  EXPECT_EQ(Kept(), "a/1 x=2 990") << "within a job there is no winner to keep";
}

TEST_F(KeptBestTest, ALaterJobReplacesItBeyondDoubtAlone) {
  Add(1, "a/1 x=1", 1000);
  Add(1, "a/1 x=2", 1100);
  Add(2, "a/1 x=2", 960);
  EXPECT_EQ(Fastest(), "a/1 x=2");
  EXPECT_EQ(Kept(), "a/1 x=1 1000");
  Add(3, "a/1 x=3", 940);
  EXPECT_EQ(Kept(), "a/1 x=3 940");
  Add(4, "a/1 x=2", 900);
  EXPECT_EQ(Kept(), "a/1 x=3 940");
}

TEST_F(KeptBestTest, AWinnerThatIsSlowerWhenItIsConfirmedFalls) {
  Add(1, "a/1 x=1", 1000);
  Add(1, "a/1 x=2", 1050);
  Add(2, "a/1 x=1", 1300, kConfirmationArm);
  Add(2, "a/1 x=2", 1060, kConfirmationArm);
  EXPECT_EQ(Kept(), "a/1 x=2 1060");
}

TEST_F(KeptBestTest, ItsNewestConfirmationIsTheRecord) {
  Add(1, "a/1 x=1", 1000);
  Add(1, "a/1 x=1", 1010, kConfirmationArm);
  Add(2, "a/1 x=1", 1020, kConfirmationArm);
  EXPECT_EQ(Kept(), "a/1 x=1 1020");
}

TEST_F(KeptBestTest, ARefusedConfigIsNoWinnerAtAnyTime) {
  Add(1, "a/1 x=1", 500);
  Add(1, "a/2 x=2", 1000);
  Add(2, "a/2 x=3", 960);
  const auto is_new = [](const std::string& config) { return config.starts_with("a/2"); };
  EXPECT_EQ(Kept(is_new), "a/2 x=2 1000");
  EXPECT_EQ(Kept([](const std::string&) { return false; }), "");
}

// Some configs of each job are refused: the 64 that count are those that are not.
TEST_F(KeptBestTest, ManyRefusedConfigsDoNotHideTheRest) {
  for (int n = 0; n < 200; ++n) Add(1, "a/1 x=" + std::to_string(n), 100 + n);
  Add(1, "a/2 x=1", 900);
  const auto is_new = [](const std::string& config) { return config.starts_with("a/2"); };
  EXPECT_EQ(Kept(is_new), "a/2 x=1 900");
}

TEST_F(KeptBestTest, TheOrderOfTheRecordsDoesNotMatter) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    std::vector<Record> records;
    for (int n = 0; n < 300; ++n) {
      // Few different times, moments and configs: ties are frequent.
      Record record = MakeRecord(n, 1000 + 10 * static_cast<double>(rng.Below(30)));
      record.job_id = mlc::DigestOf("job " + std::to_string(n / 60));
      record.config = "a/1 x=" + std::to_string(rng.Below(40));
      record.arm = rng.Below(4) == 0 ? kConfirmationArm : "model";
      record.created_us = 1'000'000 + n / 10;
      records.push_back(record);
    }
    std::vector<std::string> kept, fastest;
    for (int round = 0; round < 4; ++round) {
      const std::unique_ptr<TuningLog> log = MakeMemoryLog();
      ASSERT_TRUE(log->AddWorkload(TheWorkload()).ok());
      for (const Record& record : records) ASSERT_TRUE(AppendAndWait(*log, record).ok());
      kept.push_back((**KeptBest(*log, TheWorkload().key, "cpu")).task_uid.ToText());
      std::string order;
      for (const Record& record : *BestConfigs(*log, TheWorkload().key, "cpu", 8)) {
        order += record.task_uid.ToText() + " ";
      }
      fastest.push_back(order);
      for (size_t i = records.size(); i > 1; --i) std::swap(records[i - 1], records[rng.Below(i)]);
    }
    for (int round = 1; round < 4; ++round) {
      EXPECT_EQ(kept[static_cast<size_t>(round)], kept[0]) << "seed " << seed;
      EXPECT_EQ(fastest[static_cast<size_t>(round)], fastest[0]) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace mlc::db
