// What a pool keeps of its candidates, in the compact forms it keeps them in.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "server/search/feature_rows.h"
#include "server/search/pool.h"
#include "server/search/rank_table.h"
#include "tests/unit/server/search/synthetic_space.h"

namespace mlc::server {
namespace {

TEST(FeatureRowsTest, GivesBackWhatWasAdded) {
  Rng rng(1);
  FeatureRows rows(7);
  std::vector<float> added;
  for (size_t r = 0; r < 100; ++r) {
    // One column never varies, one from the start, the others from some row on.
    for (size_t c = 0; c < 7; ++c) {
      const bool varies = c == 1 || (c > 1 && r >= c * 10);
      added.push_back(varies ? static_cast<float>(rng.Uniform()) : static_cast<float>(c));
    }
    rows.Add(std::span(added).last(7));
  }
  ASSERT_EQ(rows.size(), 100U);
  std::vector<float> all(700);
  rows.Read(0, all);
  EXPECT_EQ(all, added);
  std::vector<float> some(14);
  rows.Read(55, some);
  EXPECT_EQ(some, std::vector<float>(added.begin() + 55 * 7, added.begin() + 57 * 7));
}

TEST(FeatureRowsTest, TellsZerosApartAndKeepsWhatIsNoNumber) {
  FeatureRows rows(2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  rows.Add(std::vector<float>{0.0F, nan});
  rows.Add(std::vector<float>{-0.0F, nan});
  std::vector<float> all(4);
  rows.Read(0, all);
  EXPECT_FALSE(std::signbit(all[0]));
  EXPECT_TRUE(std::signbit(all[2]));
  EXPECT_TRUE(std::isnan(all[1]) && std::isnan(all[3]));
}

TEST(RankTableTest, IsAMap) {
  Rng rng(2);
  RankTable table;
  std::map<uint32_t, int32_t> expected;
  for (int32_t n = 0; n < 20'000; ++n) {
    // Neighbours in a row and ranks far apart, up to the largest.
    uint32_t rank = static_cast<uint32_t>(rng.Below(n % 2 == 0 ? 8'000 : RankTable::kNone));
    if (n == 5) rank = RankTable::kNone - 1;
    const auto [kept, is_new] = table.Insert(rank, n);
    const auto [entry, expected_new] = expected.emplace(rank, n);
    ASSERT_EQ(is_new, expected_new) << rank;
    ASSERT_EQ(*kept, entry->second) << rank;
    if (is_new && n % 3 == 0) *kept = entry->second = -1;
  }
  EXPECT_EQ(table.size(), expected.size());
}

TEST(PoolTest, KeepsPointsEstimatesAndFeaturesOfItsCandidates) {
  Pool pool(std::make_unique<SyntheticSource>(1000));
  const SyntheticSource source(1000);
  Rng rng(3);
  pool.Sample(300, 3000, rng);
  ASSERT_EQ(pool.size(), 300);
  std::vector<float> rows(300 * source.columns()), row(source.columns());
  pool.ReadFeatures(0, rows);
  for (int i = 0; i < pool.size(); ++i) {
    double estimate = 0;
    ASSERT_TRUE(source.Describe(0, pool.point(i), estimate, row));
    EXPECT_EQ(pool.log_estimate(i), std::log(estimate));
    const auto at = rows.begin() + static_cast<int64_t>(static_cast<size_t>(i) * row.size());
    EXPECT_EQ(row, std::vector<float>(at, at + static_cast<int64_t>(row.size())));
    EXPECT_EQ(pool.Add(0, pool.point(i)), i);
  }
  EXPECT_EQ(pool.size(), 300);
  EXPECT_EQ(pool.Difference(0, 0), 0);
}

// A small family and a large one.
class TwoFamilies : public CandidateSource {
 public:
  size_t families() const override { return 2; }
  std::string_view family_name(size_t family) const override { return family == 0 ? "a" : "b"; }
  std::span<const uint16_t> radix(size_t family) const override { return sizes_[family]; }
  size_t columns() const override { return 1; }
  bool Describe(size_t, const Point&, double& estimate_ns, std::span<float> row) const override {
    estimate_ns = 1;
    row[0] = 0;
    return true;
  }
  std::vector<PointRef> Defaults() const override { return {}; }

 private:
  const std::vector<uint16_t> sizes_[2] = {{2}, {500}};
};

TEST(PoolTest, FamiliesHaveEqualChances) {
  Pool pool(std::make_unique<TwoFamilies>());
  Rng rng(4);
  pool.Sample(1000, 1000, rng);
  ASSERT_EQ(pool.size(), 502);
  std::map<int, int> drawn;
  int of_small = 0;
  for (int draw = 0; draw < 4000; ++draw) {
    const int candidate = pool.Draw(rng);
    ++drawn[candidate];
    of_small += pool.family(candidate) == 0 ? 1 : 0;
  }
  EXPECT_NEAR(of_small, 2000, 150);
  EXPECT_GT(drawn.size(), 450U);
}

}  // namespace
}  // namespace mlc::server
