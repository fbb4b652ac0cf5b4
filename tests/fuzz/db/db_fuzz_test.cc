// Damaged files and damaged export lines: never a crash, never a damaged record handed out.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/rng.h"
#include "db/json_lines.h"
#include "db/snapshot/snapshot.h"
#include "db/snapshot/verify.h"
#include "tests/fuzz/db/damage.h"
#include "tests/support/db/memory_log.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

class DbFuzzTest : public LogFixture {};

TEST_F(DbFuzzTest, AFlippedByteIsHarmlessOrFound) {
  Fill(Path("a.db"), 0, 50);
  ASSERT_TRUE(WriteSnapshot(Path("a.db"), Path("sound.db")).ok());
  const std::string sound = ReadFile(Path("sound.db"));
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = sound;
    damaged[rng.Below(damaged.size())] ^= static_cast<char>(1 + rng.Below(255));
    std::ofstream(Path("b.db"), std::ios::binary) << damaged;
    (void)VerifyLog(Path("b.db"));
    auto log = OpenSqliteLogForReading(Path("b.db"));
    if (!log.ok()) continue;
    const auto records = (*log)->List({});
    if (!records.ok()) continue;
    for (const Record& record : *records) {
      // Whatever is handed out is one of the records that were written.
      const int n = static_cast<int>(record.created_us - 1'000'000);
      EXPECT_EQ(DigestOf(record), DigestOf(MakeRecord(n))) << "round " << round;
    }
  }
}

TEST_F(DbFuzzTest, ADamagedExportIsRefusedOrUnchanged) {
  auto source = MakeMemoryLog();
  ASSERT_TRUE(source->AddWorkload(TheWorkload()).ok());
  ASSERT_TRUE(AppendAndWait(*source, MakeRecord(1)).ok());
  std::ostringstream text;
  ASSERT_TRUE(Export(*source, text).ok());
  Rng rng(2);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text.str();
    for (uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      damaged[rng.Below(damaged.size())] = static_cast<char>(rng.Below(256));
    }
    auto log = MakeMemoryLog();
    std::istringstream in(damaged);
    (void)Import(in, *log);
    const auto records = log->List({});
    for (const Record& record : *records) {
      EXPECT_EQ(DigestOf(record), DigestOf(MakeRecord(1))) << damaged;
    }
  }
}

}  // namespace
}  // namespace mlc::db
