// db::Validate and the schema agree: on random records with every field at, within and beyond its
// bounds, what Validate takes the schema takes, and what only Validate refuses is one of its own,
// stricter rules. So no result that a worker sends can fail in the middle of a commit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "db/record.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "tests/temporary_folder.h"

namespace mlc::db {
namespace {

constexpr int kRecords = 60'000;
constexpr uint64_t kSeed = 20261124;

WorkloadRow TheWorkload() {
  const std::string text = "workload v1 of the schema's test";
  return {mlc::DigestOf(std::string_view(text)), text, ""};
}

Record GoodRecord(uint64_t n) {
  Record record;
  record.task_uid = Digest{7, n};
  record.workload = TheWorkload().key;
  record.target = "cpu";
  record.config = "contraction/1 mr=1";
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = record.measurement.p10_ns = record.measurement.p90_ns = 100;
  record.measurement.runs = 9;
  return record;
}

class Schema {
 public:
  Schema() : database_(*Database::Open(folder_.path("schema.db"), OpenMode::kReadWrite)) {
    EXPECT_TRUE(PrepareSchema(database_, "schema.db").ok());
    EXPECT_TRUE(InsertWorkload(database_, TheWorkload()).ok());
    EXPECT_TRUE(database_.Execute("PRAGMA synchronous=OFF; PRAGMA foreign_keys=ON; BEGIN").ok());
  }
  // OK, or what the schema has against the record; it is not kept.
  Status Takes(const Record& record) {
    EXPECT_TRUE(database_.Execute("SAVEPOINT one").ok());
    const Status status = InsertRecord(database_, record).status();
    EXPECT_TRUE(database_.Execute("ROLLBACK TO one; RELEASE one").ok());
    return status;
  }

 private:
  tests::TemporaryFolder folder_;
  Database database_;
};

template <typename T>
T One(Rng& rng, const std::vector<T>& values) {
  return values[rng.Below(values.size())];
}

double Number(Rng& rng) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> edges = {0,    -0.0,    1e-300,
                                     -1,   -1e-300, 99,
                                     100,  101,     std::nextafter(1e12, 0),
                                     1e12, 1e13,    std::nextafter(1e15, 0),
                                     1e15, 1e300,   inf,
                                     -inf, -1e15,   std::numeric_limits<double>::quiet_NaN()};
  return One(rng, edges);
}

std::string Config(Rng& rng) {
  const auto padded = [](const std::string& head, size_t size) {
    return head + std::string(size - std::min(size, head.size()), 'x');
  };
  const std::string mixed = "r/1 \xc3\xa9=1";
  const std::vector<std::string> configs = {
      "",
      "x",
      "/1",
      "a/",
      "a/0",
      "a/-1",
      "a/1",
      "a/1 x=1",
      "a /1",
      "a/99999999999",
      "a/1 #",
      std::string("a/1 \0", 5),
      std::string("\0/1", 3),
      mixed,
      padded("a/1 ", 8191),
      padded("a/1 ", 8192),
      padded("user_kernel/1 s=", 8191),
      padded("user_kernel/1 s=", 8192),
      padded("user_kernel/1 s=", size_t{3} << 19),
      padded("user_kernel/1 s=", (size_t{3} << 19) + 1),
      "user_kernel/" + std::string(9000, '0') + "1",
      "user_kernel/1 s=" + std::string(5000, '\xc3') + std::string(5000, '\xa9'),
      std::string("user_kernel/1 s=") + '\0' + std::string(9000, 'x')};
  return One(rng, configs);
}

// One to three fields of a good record are at or beyond a bound.
Record RandomRecord(Rng& rng, uint64_t n) {
  Record record = GoodRecord(n);
  Measurement& m = record.measurement;
  for (uint64_t changes = 1 + rng.Below(3); changes > 0; --changes) {
    switch (rng.Below(16)) {
      case 0:
        m.outcome = static_cast<Outcome>(rng.Below(8));
        if (rng.Below(2) == 0) m.median_ns = 0;
        break;
      case 1:
        m.median_ns = Number(rng);
        break;
      case 2:
        m.p10_ns = Number(rng);
        break;
      case 3:
        m.p90_ns = Number(rng);
        break;
      case 4:
        m.median_ns = m.p10_ns = m.p90_ns = Number(rng);
        break;
      case 5:
        m.runs = One<int32_t>(rng, {INT32_MIN, -1, 0, 2, 3, INT32_MAX});
        break;
      case 6:
        m.cold_ns = Number(rng);
        break;
      case 7:
        record.floor_ns = Number(rng);
        break;
      case 8:
        m.max_error = Number(rng);
        break;
      case 9:
        m.build_ms = Number(rng);
        break;
      case 10:
        m.clock_mhz = Number(rng);
        break;
      case 11:
        m.machine_speed = Number(rng);
        break;
      case 12:
        m.detail = std::string(One<size_t>(rng, {0, 1, 16384, 16385}), 'd');
        break;
      case 13:
        record.predicted_rank = One<int64_t>(rng, {INT64_MIN, -1, 0, INT64_MAX});
        break;
      case 14:
        record.target = One<std::string>(rng, {"", "c", std::string("\0c", 2)});
        break;
      default:
        record.config = Config(rng);
    }
  }
  return record;
}

// What Validate refuses although the schema would keep it: what the schema cannot see.
bool IsOwnRule(const Record& record) {
  const Measurement& m = record.measurement;
  for (double value : {m.max_error, m.build_ms, m.clock_mhz, m.machine_speed}) {
    if (std::isinf(value)) return true;
  }
  const bool timed = m.outcome == Outcome::kOk || m.outcome == Outcome::kTooSlow;
  if (!timed && m.median_ns != 0) return true;  // the row would not have it
  if (m.outcome == Outcome::kOk && m.p10_ns == 0) return true;
  if (record.target.find('\0') != std::string::npos) return true;
  // A long config that brings no source is kept, but cannot be read again.
  if (record.config.size() > 8191 && !record.config.starts_with("user_kernel/")) return true;
  for (char c : record.config) {
    if (c < ' ' || c > '~' || c == '#') return true;
  }
  return false;
}

std::string WordsOf(const Record& record) {
  const Measurement& m = record.measurement;
  std::string text = std::string(ToText(m.outcome)) + " runs=" + std::to_string(m.runs) +
                     " rank=" + std::to_string(record.predicted_rank) +
                     " detail=" + std::to_string(m.detail.size());
  for (double value : {m.median_ns, m.p10_ns, m.p90_ns, m.cold_ns, record.floor_ns, m.max_error,
                       m.build_ms, m.clock_mhz, m.machine_speed}) {
    text += " " + std::to_string(value);
  }
  return text + " config=" + record.config.substr(0, 30) + " of " +
         std::to_string(record.config.size());
}

TEST(RecordSchemaTest, ValidateTakesExactlyWhatTheSchemaTakesButForItsOwnRules) {
  Schema schema;
  Rng rng(kSeed);
  int taken = 0;
  int refused = 0;
  for (int n = 0; n < kRecords; ++n) {
    const Record record = RandomRecord(rng, static_cast<uint64_t>(n));
    const Status valid = Validate(record);
    const Status kept = schema.Takes(record);
    ++(valid.ok() ? taken : refused);
    ASSERT_NE(kept.code(), StatusCode::kInternal) << kept.ToString();
    if (valid.ok()) {
      ASSERT_TRUE(kept.ok()) << "seed " << kSeed << " record " << n << ": " << kept.ToString()
                             << "\n"
                             << WordsOf(record);
    } else if (kept.ok()) {
      ASSERT_TRUE(IsOwnRule(record))
          << "seed " << kSeed << " record " << n << ": " << valid.message() << "\n"
          << WordsOf(record);
    }
  }
  // Neither side is what nearly every record falls on.
  EXPECT_GT(taken, kRecords / 10);
  EXPECT_GT(refused, kRecords / 10);
}

}  // namespace
}  // namespace mlc::db
