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
  static Record Full() {
    Record record = MakeRecord(1);
    record.job_id = Digest{3, 4};
    record.measurement.median_ns = 1000;
    record.measurement.p10_ns = 900;
    record.measurement.p90_ns = 1100;
    return FullRecord(record);
  }
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

}  // namespace
}  // namespace mlc::db
