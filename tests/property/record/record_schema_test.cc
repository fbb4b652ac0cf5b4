// db::Validate and the schema agree: on random records with every field at, within and beyond its
// bounds, what Validate takes the schema takes, and what only Validate refuses is one of its own,
// stricter rules. So no result that a worker sends can fail in the middle of a commit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/rng.h"
#include "db/record.h"
#include "db/record_fields.h"
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

void Change(Rng& rng, const FieldInfo&, double& value) { value = Number(rng); }
void Change(Rng& rng, const FieldInfo&, int32_t& value) {
  value = One<int32_t>(rng, {INT32_MIN, -1, 0, 2, 3, INT32_MAX});
}
void Change(Rng& rng, const FieldInfo&, int64_t& value) {
  value = One<int64_t>(rng, {INT64_MIN, -1, 0, INT64_MAX});
}
void Change(Rng& rng, const FieldInfo&, uint64_t& value) { value = rng.Next(); }
// Another workload than the schema's would be refused for that alone.
void Change(Rng&, const FieldInfo&, const Digest&) {}
void Change(Rng& rng, const FieldInfo&, Outcome& value) {
  value = static_cast<Outcome>(rng.Below(8));
}
void Change(Rng& rng, const FieldInfo& field, std::string& value) {
  if (field.name == "config") {
    value = Config(rng);
  } else if (field.name == "target") {
    value = One<std::string>(rng, {"", "c", std::string("\0c", 2)});
  } else {
    value = std::string(One<size_t>(rng, {0, 1, 16384, 16385}), 'd');
  }
}

size_t CountFields() {
  size_t count = 0;
  const Record record;
  VisitFields(record, [&](const FieldInfo&, const auto&) { ++count; });
  return count;
}

// One to three fields of a good record are at or beyond a bound.
Record RandomRecord(Rng& rng, uint64_t n) {
  static const size_t kFields = CountFields();
  Record record = GoodRecord(n);
  Measurement& m = record.measurement;
  for (uint64_t changes = 1 + rng.Below(3); changes > 0; --changes) {
    const uint64_t chosen = rng.Below(kFields + 1);
    size_t at = 0;
    VisitFields(record, [&](const FieldInfo& field, auto& value) {
      if (at++ == chosen) Change(rng, field, value);
    });
    if (chosen == kFields) m.median_ns = m.p10_ns = m.p90_ns = Number(rng);
    if (m.outcome != Outcome::kOk && rng.Below(2) == 0) m.median_ns = 0;
  }
  return record;
}

// What Validate refuses although the schema would keep it: what the schema cannot see.
bool IsOwnRule(const Record& record) {
  const Measurement& m = record.measurement;
  bool is_infinite = false;
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    if constexpr (std::same_as<std::decay_t<decltype(value)>, double>) {
      is_infinite = is_infinite || (field.limit == 0 && std::isinf(value));
    }
  });
  if (is_infinite) return true;
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
  std::string text(ToText(record.measurement.outcome));
  VisitFields(record, [&](const FieldInfo& field, const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
      text += " " + std::string(field.name) + "=" + std::to_string(value);
    }
  });
  return text + " detail of " + std::to_string(record.measurement.detail.size()) +
         " config=" + record.config.substr(0, 30) + " of " + std::to_string(record.config.size());
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
