// A failing disk under the log: at every write and every synchronisation in turn. Nothing
// acknowledged is lost, errors are told apart and in words, and the log opens again.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "base/exit_code.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/full_disk.h"
#include "tests/unit/db/faulty_disk.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kRecords = 6;
// Every call of the first ones, in which the file is made; then every so many.
constexpr int64_t kEach = 40;
constexpr int64_t kStride = 5;
constexpr int64_t kMostCalls = 2000;

struct Case {
  const char* name;
  Fault fault;
  bool for_good;
  ExitCode exit_code;
};

class FaultTest : public LogFixture, public ::testing::WithParamInterface<Case> {
 protected:
  // Checks the words of a failure; returns whether it is one.
  static bool Failure(const Status& status) {
    if (status.ok()) return false;
    EXPECT_EQ(ExitCodeOf(status), GetParam().exit_code) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr("a.db"));
    return true;
  }

  // Fills a log; returns the records that were acknowledged.
  std::set<int> Write() {
    std::set<int> acknowledged;
    auto log = OpenSqliteLog(Path("a.db"));
    if (Failure(log.status()) || Failure((*log)->AddWorkload(TheWorkload()))) return acknowledged;
    for (int n = 0; n < kRecords; ++n) {
      if (!Failure(AppendAndWait(**log, MakeRecord(n)).status())) acknowledged.insert(n);
    }
    const ModelRow model{"contraction", "cpu", Digest{1, 1}, std::string(20'000, 'm'), 5};
    if (!Failure((*log)->SaveModel(model))) acknowledged.insert(kRecords);
    return acknowledged;
  }

  // Everything acknowledged is there, and the log can be written again.
  void Check(const std::set<int>& acknowledged) {
    {
      auto log = OpenSqliteLog(Path("a.db"));
      ASSERT_TRUE(log.ok()) << log.status().ToString();
      for (int n : acknowledged) {
        if (n == kRecords) {
          EXPECT_EQ((*log)->Models("cpu")->size(), 1u);
        } else {
          EXPECT_TRUE(*(*log)->Find(MakeRecord(n).task_uid)) << "lost record " << n;
        }
      }
      ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
      EXPECT_TRUE(AppendAndWait(**log, MakeRecord(100)).ok());
    }
    const auto report = VerifyLog(Path("a.db"));
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_THAT(report->problems, ::testing::IsEmpty());
  }

  FaultyDisk disk_;
};

TEST_P(FaultTest, LosesNothingAcknowledgedWhicheverCallFails) {
  int faults = 0;
  for (int64_t call = 1; call < kMostCalls; call += call < kEach ? 1 : kStride) {
    SCOPED_TRACE("fault at call " + std::to_string(call));
    for (const char* name : {"a.db", "a.db-wal", "a.db-shm", "a.db-journal"}) {
      std::filesystem::remove(Path(name));
    }
    FaultyDisk::Arm(GetParam().fault, call, GetParam().for_good);
    const std::set<int> acknowledged = Write();
    const bool met = FaultyDisk::Failed();
    FaultyDisk::Repair();
    Check(acknowledged);
    if (HasFailure()) return;
    if (!met) {
      EXPECT_EQ(acknowledged.size(), kRecords + 1u);
      EXPECT_GT(faults, 5);
      return;
    }
    ++faults;
  }
  FAIL() << "the last call was never reached";
}

INSTANTIATE_TEST_SUITE_P(
    Disks, FaultTest,
    ::testing::Values(Case{"FullOnce", Fault::kFull, false, ExitCode::kTemporary},
                      Case{"FullForGood", Fault::kFull, true, ExitCode::kTemporary},
                      Case{"WriteErrorOnce", Fault::kWriteError, false, ExitCode::kStorage},
                      Case{"WriteErrorForGood", Fault::kWriteError, true, ExitCode::kStorage},
                      Case{"ShortWriteOnce", Fault::kShortWrite, false, ExitCode::kStorage},
                      Case{"ShortWriteForGood", Fault::kShortWrite, true, ExitCode::kStorage},
                      Case{"SyncErrorOnce", Fault::kSyncError, false, ExitCode::kStorage},
                      Case{"SyncErrorForGood", Fault::kSyncError, true, ExitCode::kStorage}),
    [](const auto& info) { return info.param.name; });

class FileLimitTest : public LogFixture {
 protected:
  void SetUp() override {
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    was_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  void TearDown() override {
    Limit(before_.rlim_cur);
    (void)std::signal(SIGXFSZ, was_);
  }
  void Limit(rlim_t bytes) const {
    const rlimit limit{bytes, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  rlimit before_{};
  void (*was_)(int) = SIG_DFL;
};

// As a disk that is full: an administrator's limit is raised, and the log goes on.
TEST_F(FileLimitTest, AFileAtItsLimitRefusesWritesUntilThereIsSpace) {
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
  ASSERT_TRUE(AppendAndWait(**log, MakeRecord(0)).ok());
  Limit(std::filesystem::file_size(Path("a.db-wal")));
  int n = 1;
  for (; n < 3; ++n) {
    const Status full = AppendAndWait(**log, MakeRecord(n)).status();
    EXPECT_EQ(full.code(), StatusCode::kResourceExhausted) << full.ToString();
    EXPECT_THAT(full.message(), HasSubstr("writes are refused until there is free space"));
    EXPECT_TRUE(*(*log)->Find(MakeRecord(0).task_uid)) << "reads go on";
  }
  Limit(before_.rlim_cur);
  EXPECT_TRUE(AppendAndWait(**log, MakeRecord(n)).ok());
  log->reset();
  EXPECT_THAT(VerifyLog(Path("a.db"))->problems, ::testing::IsEmpty());
}

TEST(FullDiskTest, QuotasAndLimitsAreFullDisks) {
  for (const int error : {EDQUOT, EFBIG, ENOSPC}) EXPECT_EQ(FullDiskError(error), ENOSPC);
  for (const int error : {EIO, EROFS, EINTR}) EXPECT_EQ(FullDiskError(error), error);
}

// What a failed synchronisation left on the disk is unknown, even if the next one succeeds.
TEST_F(LogFixture, AfterAnIoErrorTheLogRefusesWritesUntilItIsOpenedAgain) {
  FaultyDisk disk;
  auto log = OpenSqliteLog(Path("a.db"));
  ASSERT_TRUE((*log)->AddWorkload(TheWorkload()).ok());
  ASSERT_TRUE(AppendAndWait(**log, MakeRecord(1)).ok());
  FaultyDisk::Arm(Fault::kSyncError, 1, false);
  const Status first = AppendAndWait(**log, MakeRecord(2)).status();
  EXPECT_EQ(first.code(), StatusCode::kDataLoss);
  EXPECT_TRUE(FaultyDisk::Failed());
  FaultyDisk::Repair();
  const Status second = AppendAndWait(**log, MakeRecord(3)).status();
  EXPECT_EQ(second.code(), StatusCode::kDataLoss);
  EXPECT_THAT(second.message(), HasSubstr("the log takes no writes any more after: "));
  EXPECT_TRUE(*(*log)->Find(MakeRecord(1).task_uid)) << "reads go on";
  log->reset();
  log = OpenSqliteLog(Path("a.db"));
  EXPECT_TRUE(AppendAndWait(**log, MakeRecord(3)).ok());
  EXPECT_TRUE(*(*log)->Find(MakeRecord(1).task_uid));
}

}  // namespace
}  // namespace mlc::db
