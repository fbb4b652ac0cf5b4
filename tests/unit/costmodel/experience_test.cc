#include "costmodel/experience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace mlc::costmodel {
namespace {

Experience Rows(size_t count) {
  Experience rows(2);
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i);
    rows.Add(std::vector<float>{x, -x}, 0.5f * x, 1);
  }
  return rows;
}

TEST(ExperienceTest, BytesRoundTrip) {
  const std::string bytes = Rows(20).ToBytes();
  const auto again = Experience::FromBytes(bytes, 2);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->size(), 20u);
  EXPECT_EQ(again->ToBytes(), bytes);
}

TEST(ExperienceTest, RefusesDamage) {
  std::string bytes = Rows(20).ToBytes();
  const auto message = [](const std::string& text, size_t columns) {
    const auto rows = Experience::FromBytes(text, columns);
    EXPECT_EQ(rows.status().code(), StatusCode::kDataLoss);
    return rows.status().message();
  };
  EXPECT_EQ(message(bytes, 3), "saved rows: of another feature table");
  EXPECT_EQ(message("", 2), "saved rows: too short");
  EXPECT_EQ(message(bytes.substr(0, bytes.size() - 1), 2), "saved rows: damaged");
  std::string wrong = bytes;
  wrong[0] = 'x';
  EXPECT_EQ(message(wrong, 2), "saved rows: not of this form");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  bytes.replace(bytes.size() - sizeof(nan), sizeof(nan), reinterpret_cast<const char*>(&nan),
                sizeof(nan));
  EXPECT_EQ(message(bytes, 2), "saved rows: damaged");
}

TEST(ExperienceTest, KeepsTheLatestRows) {
  Experience all = Rows(Experience::kMaxRows);
  Experience last(2);
  last.Add(std::vector<float>{1, 1}, 42, 1);
  all.Append(last);
  EXPECT_EQ(all.size(), Experience::kMaxRows);
  Experience grown = Rows(5 * Experience::kMaxRows);
  EXPECT_LE(grown.size(), 2 * Experience::kMaxRows);
}

TEST(ExperienceTest, Fits) {
  const auto model = Rows(50).Fit({.trees = 60, .depth = 4, .eta = 0.3});
  ASSERT_TRUE(model.ok());
  float out[1];
  model->Predict(std::vector<float>{40, -40}, out);
  EXPECT_NEAR(out[0], 20, 1.5);
}

}  // namespace
}  // namespace mlc::costmodel
