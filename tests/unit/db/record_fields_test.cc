// No field of the tables is lost or confused on any way that records take.
#include "db/record_fields.h"

#include <gtest/gtest.h>

#include <concepts>
#include <set>
#include <sstream>
#include <type_traits>

#include "db/json_lines.h"
#include "tests/support/db/full_record.h"
#include "tests/unit/db/log_fixture.h"

namespace mlc::db {
namespace {

using tests::FullRecord;
using tests::TextsOf;

class RecordFieldsTest : public LogFixture {
 protected:
  static Record Base() {
    Record record = MakeRecord(1);
    record.job_id = Digest{3, 4};
    record.measurement.median_ns = 1000;
    record.measurement.p10_ns = 900;
    record.measurement.p90_ns = 1100;
    return record;
  }
  static Record Full() { return FullRecord(Base()); }
};

template <typename Value>
void Change(Value& value) {
  if constexpr (std::same_as<Value, std::string>) {
    value += "x";
  } else if constexpr (std::same_as<Value, Digest>) {
    ++value.low;
  } else if constexpr (std::same_as<Value, Outcome>) {
    value = Outcome::kRunError;
  } else {
    value += 1;
  }
}

TEST_F(RecordFieldsTest, EachHasANameAndAValueOfItsOwn) {
  std::set<std::string> values;
  const auto texts = TextsOf(Full());
  for (const auto& [name, text] : texts) values.insert(text);
  EXPECT_EQ(values.size(), texts.size());
  EXPECT_TRUE(Validate(Full()).ok()) << Validate(Full()).ToString();
}

TEST_F(RecordFieldsTest, EachCountsInTheDigest) {
  std::set<Digest> digests = {DigestOf(Full())};
  for (size_t changed = 0; changed < TextsOf(Full()).size(); ++changed) {
    Record record = Full();
    size_t at = 0;
    std::string_view name;
    VisitFields(record, [&](const FieldInfo& field, auto& value) {
      if (at++ != changed) return;
      Change(value);
      name = field.name;
    });
    EXPECT_TRUE(digests.insert(DigestOf(record)).second) << name;
  }
}

TEST_F(RecordFieldsTest, EachComesBackFromALine) {
  const Record record = Full();
  std::stringstream lines(ToJsonLine(TheWorkload()) + "\n" + ToJsonLine(record) + "\n");
  const auto log = *OpenSqliteLog(Path("a.db"));
  const auto counts = Import(lines, *log);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_EQ(TextsOf(**log->Find(record.task_uid)), TextsOf(record));
}

// So digests and lines of records from before are what they were.
TEST_F(RecordFieldsTest, ALaterFieldThatARecordLacksIsNeitherInItsLineNorInItsDigest) {
  Record record = Base();
  EXPECT_EQ(ToJsonLine(record).find("device_ms"), std::string::npos);
  EXPECT_EQ(DigestOf(record).ToText(), "79721485570363f19a89baecbb78544a") << "as of version 1";
  record.measurement.device_ms = 5;
  EXPECT_NE(ToJsonLine(record).find("\"device_ms\":5.0"), std::string::npos);
}

}  // namespace
}  // namespace mlc::db
