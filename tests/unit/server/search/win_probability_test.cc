#include "server/search/win_probability.h"

#include <gtest/gtest.h>

#include <vector>

namespace mlc::server {
namespace {

// A task's time and headroom, and its uses when products are merged and apart.
struct Entry {
  double ns;
  double headroom;
  std::vector<double> uses;
};

WinProbabilities Of(const std::vector<Entry>& entries) {
  std::vector<TaskOutlook> outlooks;
  for (const Entry& entry : entries) outlooks.push_back({entry.ns, entry.headroom, entry.uses});
  return WinProbabilitiesOf(outlooks);
}

TEST(WinProbabilityTest, OneVariantCountsAsItIsUsed) {
  const WinProbabilities found = Of({{100, 0, {3}}, {50, 1, {2}}});
  EXPECT_EQ(found.leader, 0u);
  EXPECT_EQ(found.leader_ns, 400);
  EXPECT_EQ(found.of_variant, std::vector<double>{1});
  EXPECT_EQ(found.WeightOf(std::vector<double>{3}), 3);
  EXPECT_EQ(WinProbabilitiesOf({}).leader_ns, 0);
}

TEST(WinProbabilityTest, TheFasterOneLeadsAndAmongEqualsTheFirst) {
  EXPECT_EQ(Of({{100, 0, {1, 0}}, {30, 0, {0, 3}}}).leader, 1u);
  EXPECT_EQ(Of({{80, 0, {1, 0}}, {30, 0, {0, 3}}}).leader, 0u);
  const WinProbabilities equal = Of({{90, 0, {1, 0}}, {30, 0, {0, 3}}});
  EXPECT_EQ(equal.leader, 0u);
  EXPECT_EQ(equal.of_variant, (std::vector<double>{1, 1}));
}

TEST(WinProbabilityTest, ASlowerVariantNeedsHeadroom) {
  // 20 behind, and 24 may be saved; then only 18.
  EXPECT_NEAR(Of({{100, 0.5, {1, 0}}, {40, 0.2, {0, 3}}}).of_variant[1], 1 - 20. / 24, 1e-12);
  EXPECT_EQ(Of({{100, 0.5, {1, 0}}, {40, 0.15, {0, 3}}}).of_variant[1], 0);
  EXPECT_EQ(Of({{100, 0.5, {1, 0}}, {40, 0, {0, 3}}}).of_variant[1], 0);
}

// What both gain changes no order.
TEST(WinProbabilityTest, SharedTasksDoNotRaiseTheProbability) {
  const WinProbabilities found = Of({{100, 0, {1, 0}}, {40, 0, {0, 3}}, {1000, 0.9, {5, 5}}});
  EXPECT_EQ(found.leader_ns, 5100);
  EXPECT_EQ(found.of_variant[1], 0);
  EXPECT_EQ(found.WeightOf(std::vector<double>{0, 3}), 0);
  EXPECT_EQ(found.WeightOf(std::vector<double>{5, 5}), 5);
}

TEST(WinProbabilityTest, WhatCannotBeBuiltCannotWin) {
  const std::vector<double> merged = {1, 0}, apart = {0, 3}, both = {2, 2};
  std::vector<TaskOutlook> tasks = {{0, 1, merged, true}, {40, 0.5, apart}, {10, 0.5, both}};
  EXPECT_EQ(WinProbabilitiesOf(tasks).leader, 1u);
  EXPECT_EQ(WinProbabilitiesOf(tasks).of_variant, (std::vector<double>{0, 1}));
  // What neither has a kernel for decides nothing.
  tasks[0].given_up = false;
  tasks[2].given_up = true;
  EXPECT_EQ(WinProbabilitiesOf(tasks).leader, 0u);
}

TEST(WinProbabilityTest, ATaskUsedMoreOftenByTheOtherIsWeightedByItsProbability) {
  const WinProbabilities found = Of({{100, 0, {1, 0}}, {40, 0.25, {1, 4}}});
  ASSERT_EQ(found.leader, 0u);
  EXPECT_NEAR(found.of_variant[1], 1 - 20. / 30, 1e-12);
  EXPECT_NEAR(found.WeightOf(std::vector<double>{1, 4}), 4. / 3, 1e-12);
}

}  // namespace
}  // namespace mlc::server
