#include "client/compile/choose_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include "base/rng.h"
#include "client/compile/compile_report.h"
#include "client/compile/keep_winners.h"
#include "client/compile/server_best.h"
#include "compiler/schedule/space/check_config.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/default_config.h"
#include "db/report/explain.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/client/compile/known_times.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::client {
namespace {

using costmodel::MakeConv;
using ::testing::HasSubstr;
using ::testing::Not;

class ChooseKernelsTest : public ::testing::Test {
 protected:
  ChooseKernelsTest() {
    target_.cpu().isa = target::Isa::kAvx512;
    target_.cpu().threads = 2;
    for (const graph::Workload& workload : {four_, other_}) {
      program_.tasks.push_back({workload, 1, "conv"});
    }
  }

  schedule::Config Default(const graph::Workload& workload) const {
    return *costmodel::DefaultConfig(workload, target_);
  }
  schedule::Config Another(const graph::Workload& workload) const {
    const schedule::Family* family = schedule::FamiliesFor(workload, target_)[0];
    const schedule::Space space = family->MakeSpace(workload, target_);
    for (Rng rng(3);;) {
      const auto points = static_cast<uint64_t>(space.NumPoints());
      schedule::Config config = space.At(static_cast<int64_t>(rng.Below(points)));
      const auto reason = family->Check(workload, target_, config);
      if (reason == schedule::RejectReason::kNone && config != Default(workload)) return config;
    }
  }
  void Add(const graph::Workload& workload, const schedule::Config& config, double ns) {
    AddTime(*log_, workload, target_, config, ns, "model", ++count_);
  }
  std::vector<package::Choice> Choose(Transfer transfer) const {
    const auto source = MakeLogSource(*log_, target_.ClassText());
    auto choices = ChooseFrom(program_, target_, source.get(), transfer);
    EXPECT_TRUE(choices.ok()) << choices.status().ToString();
    return *std::move(choices);
  }

  target::Target target_;
  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  int count_ = 0;
  graph::Workload one_ = MakeConv(64, 28, 128, 3), four_ = MakeConv(64, 28, 128, 3, 4),
                  other_ = MakeConv(64, 28, 128, 1);
  graph::Program program_;
};

TEST_F(ChooseKernelsTest, ATaskWithoutARecordGetsTheFastKernelOfASimilarOne) {
  Add(one_, Default(one_), 90'000);
  Add(one_, Another(one_), 10'000);
  const std::vector<package::Choice> choices = Choose(Transfer::kUse);
  EXPECT_TRUE(IsTransferred(choices[0]));
  EXPECT_FALSE(IsTuned(choices[0]));
  EXPECT_EQ(package::ToText(choices[0].origin),
            "transfer:" + DigestOf(std::string("record 2")).ToText());
  EXPECT_NE(choices[0].config, Default(four_));
  EXPECT_GT(choices[0].expected_ns, 10'000) << "four times the work";
  EXPECT_EQ(choices[0].note, one_.Summary());
  EXPECT_EQ(choices[1].origin, package::Origin()) << "a 1x1 convolution is of another kind";
  EXPECT_EQ(choices[1].config, Default(other_));

  const std::vector<package::Choice> plain = Choose(Transfer::kIgnore);
  EXPECT_EQ(plain[0].origin, package::Origin());
  EXPECT_EQ(plain[0].config, Default(four_));
}

TEST_F(ChooseKernelsTest, ARecordOfItsOwnComesFirst) {
  Add(one_, Default(one_), 90'000);
  Add(one_, Another(one_), 10'000);
  Add(four_, Another(four_), 500'000);
  const std::vector<package::Choice> choices = Choose(Transfer::kUse);
  EXPECT_TRUE(IsTuned(choices[0]));
  EXPECT_EQ(choices[0].config, Another(four_));
  EXPECT_EQ(choices[0].expected_ns, 500'000);
}

// A log may hold any text with the right digest.
TEST_F(ChooseKernelsTest, ForgedConfigsArePassedOver) {
  constexpr int64_t kOdd[] = {INT64_MIN, -1, 0, 1, 3, int64_t{1} << 40, INT64_MAX};
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    schedule::Config forged = Another(four_);
    const auto place = static_cast<std::ptrdiff_t>(rng.Below(forged.knobs.size()));
    auto& [name, value] = forged.knobs[static_cast<size_t>(place)];
    const std::span<const schedule::Family* const> families = schedule::Families();
    const schedule::Family& family = *families[rng.Below(families.size())];
    switch (rng.Below(5)) {
      case 0:
        forged.knobs.erase(forged.knobs.begin() + place);
        break;
      case 1:
        name += "x";
        break;
      case 2:
        value = kOdd[rng.Below(std::size(kOdd))];
        break;
      case 3:
        std::swap(forged.knobs.front(), forged.knobs[static_cast<size_t>(place)]);
        break;
      default:
        forged.family = family.name();
        forged.version = family.version();
    }
    log_ = db::MakeMemoryLog();
    Add(four_, forged, 1);
    Add(one_, forged, 1);
    const std::vector<package::Choice> choices = Choose(Transfer::kUse);
    for (size_t i = 0; i < choices.size(); ++i) {
      const Status legal =
          schedule::CheckConfig(program_.tasks[i].workload, target_, choices[i].config);
      EXPECT_TRUE(legal.ok()) << forged.ToText() << ": " << legal.message();
    }
    db::Record record;
    record.config = forged.ToText();
    (void)report::Explain(four_, target_, record);
  }
}

TEST_F(ChooseKernelsTest, ALockFilePinsTransferredConfigs) {
  Add(one_, Default(one_), 90'000);
  Add(one_, Another(one_), 10'000);
  const std::vector<package::Choice> choices = Choose(Transfer::kUse);
  const auto lock = package::LockFile::Parse(LockOf(program_, target_, choices).ToText());
  ASSERT_TRUE(lock.ok()) << lock.status().ToString();
  const auto pinned = ChooseFromLock(program_, target_, *lock);
  ASSERT_TRUE(pinned.ok()) << pinned.status().ToString();
  for (size_t i = 0; i < choices.size(); ++i) {
    EXPECT_EQ((*pinned)[i].config, choices[i].config);
    EXPECT_EQ((*pinned)[i].origin, choices[i].origin);
  }
}

TEST_F(ChooseKernelsTest, AWinnerStaysUnlessAnotherIsFasterBeyondDoubt) {
  Add(four_, Default(four_), 10'000);
  Add(other_, Default(other_), 10'000);
  const package::LockFile lock = LockOf(program_, target_, Choose(Transfer::kUse));
  Add(four_, Another(four_), 9'800);
  Add(other_, Another(other_), 9'000);
  std::vector<package::Choice> choices = Choose(Transfer::kUse);
  EXPECT_EQ(choices[0].config, Another(four_));
  const auto source = MakeLogSource(*log_, target_.ClassText());
  auto kept = KeepWinners(program_, target_, lock, choices, source.get());
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ((*kept)[0].config, Default(four_)) << "by 2 %";
  EXPECT_EQ((*kept)[0].expected_ns, 10'000);
  EXPECT_EQ((*kept)[1].config, Another(other_)) << "by 10 %";
  // What the log does not know stays with its time of the lock file.
  log_ = db::MakeMemoryLog();
  Add(four_, Another(four_), 9'800);
  const auto without = MakeLogSource(*log_, target_.ClassText());
  choices = Choose(Transfer::kUse);
  EXPECT_FALSE(IsTuned(choices[1]));
  kept = KeepWinners(program_, target_, lock, choices, without.get());
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ((*kept)[0].config, Default(four_));
  EXPECT_EQ((*kept)[1].config, Default(other_));
  EXPECT_TRUE(IsTuned((*kept)[1]));
  package::LockFile foreign = lock;
  foreign.target_class = "target of another machine";
  EXPECT_EQ(KeepWinners(program_, target_, foreign, choices, nullptr).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(ChooseKernelsTest, AServersAnswerGivesTheFirstKernelThatThisBuildGenerates) {
  proto::BestReply reply;
  proto::BestConfig& best = *reply.add_best();
  best.set_config("of_a_newer_server/9 x=1");
  best.set_record(std::string(16, 'a'));
  proto::BestConfig& next = *best.add_others();
  next.set_config(Another(four_).ToText());
  next.mutable_measurement()->set_median_ns(7000);
  next.set_record(std::string(16, 'b'));
  reply.add_best();
  const auto source = MakeServerSource(program_, reply);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const auto choices = ChooseFrom(program_, target_, source->get(), Transfer::kUse);
  ASSERT_TRUE(choices.ok()) << choices.status().ToString();
  EXPECT_EQ((*choices)[0].config, Another(four_));
  EXPECT_EQ((*choices)[0].expected_ns, 7000);
  EXPECT_EQ((*choices)[1].origin, package::Origin());
}

TEST_F(ChooseKernelsTest, AnAnswerToAnotherQuestionIsAnError) {
  proto::BestReply reply;
  EXPECT_EQ(MakeServerSource(program_, reply).status().code(), StatusCode::kInternal);
  for (int i = 0; i < 2; ++i) reply.add_best();
  EXPECT_TRUE(MakeServerSource(program_, reply).ok());
  reply.mutable_best(0)->add_similar_workloads(0);
  EXPECT_EQ(MakeServerSource(program_, reply).status().code(), StatusCode::kInternal);
  reply.mutable_best(0)->clear_similar_workloads();
  reply.mutable_best(1)->set_config(Another(other_).ToText());
  reply.mutable_best(1)->set_record("short");
  EXPECT_EQ(MakeServerSource(program_, reply).status().code(), StatusCode::kInternal);
}

TEST_F(ChooseKernelsTest, TheReportExplainsTransferredConfigs) {
  Add(one_, Default(one_), 90'000);
  Add(one_, Another(one_), 10'000);
  const std::vector<package::Choice> choices = Choose(Transfer::kUse);
  const package::LibraryReport library;
  const std::string text = ToText(CompileReport{program_, choices, target_, library});
  EXPECT_THAT(text,
              HasSubstr("(untuned: transferred, record " +
                        std::get<package::FromSimilar>(choices[0].origin).record.substr(0, 8) +
                        " of " + one_.Summary() + ")"));
  EXPECT_THAT(text, HasSubstr("2 of 2 tasks are untuned and use a default config or one "
                              "transferred from a similar task in the log (1 of them"));
  const std::vector<package::Choice> plain = Choose(Transfer::kIgnore);
  EXPECT_THAT(ToText(CompileReport{program_, plain, target_, library}),
              Not(HasSubstr("similar task")));
}

}  // namespace
}  // namespace mlc::client
