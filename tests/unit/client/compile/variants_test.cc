#include "client/compile/variants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/compile/choose_kernels.h"
#include "tests/unit/costmodel/conv_workload.h"

namespace mlc::client {
namespace {

using ::testing::HasSubstr;

// Tasks with a time and a number of executions each; a time of zero or less: no record.
Variant Of(const std::vector<std::pair<double, int>>& tasks) {
  Variant variant;
  for (const auto& [ns, occurrences] : tasks) {
    variant.program.tasks.push_back({costmodel::MakeConv(64, 28, 128, 3), occurrences, "conv"});
    package::Choice choice;
    if (ns > 0) choice.origin = package::FromRecord{"0123"};
    choice.expected_ns = ns > 0 ? ns : 0;
    variant.choices.push_back(choice);
  }
  return variant;
}

constexpr char kApart[] = "products of one value stay apart";

Variant Apart(const std::vector<std::pair<double, int>>& tasks) {
  Variant variant = Of(tasks);
  variant.difference = kApart;
  return variant;
}

// What a build of both says.
std::string Say(const Variant& usual, const Variant& apart) {
  return NoteOn(Faster(usual, apart), MeasuredNs(usual));
}

TEST(Variants, TheSumOverAllExecutionsDecides) {
  EXPECT_EQ(MeasuredNs(Of({{100, 3}, {50, 2}})), 400);
  const Variant apart = Faster(Of({{1e6, 12}, {50, 1}}), Apart({{0.3e6, 36}, {50, 1}}));
  EXPECT_EQ(apart.program.tasks[0].occurrences, 36);
  EXPECT_EQ(NoteOn(apart, 12e6),
            "products of one value stay apart: 10.800 ms by the log, fused 12.000 ms");
  const Variant fused = Faster(Of({{1e6, 12}}), Apart({{0.4e6, 36}}));
  EXPECT_EQ(fused.program.tasks[0].occurrences, 12);
  EXPECT_EQ(NoteOn(fused, 12e6), "");
  EXPECT_EQ(Say(Of({{100, 2}}), Apart({{50, 4}})), "") << "as fast is not faster";
  EXPECT_EQ(Say(Of({{100, 2}}), Apart({{49.2, 4}})), "") << "1.6 % are within the margin";
  EXPECT_NE(Say(Of({{100, 2}}), Apart({{48.5, 4}})), "") << "3 % are not";
}

TEST(Variants, OnlyMeasuredTimesCount) {
  EXPECT_EQ(MeasuredNs(Of({{100, 3}, {-1, 2}})), 0);
  EXPECT_EQ(Say(Of({{100, 1}}), Apart({{10, 1}, {-1, 1}})), "");
  EXPECT_EQ(Say(Of({{-1, 1}}), Apart({{-1, 1}})), "");
  EXPECT_THAT(Say(Of({{100, 1}, {-1, 1}}), Apart({{500, 3}})), HasSubstr("fused not measured"));
  Variant near = Apart({{10, 1}});
  near.choices[0].origin = package::FromSimilar{"0123"};
  EXPECT_EQ(Say(Of({{100, 1}}), near), "") << "an estimate";
}

}  // namespace
}  // namespace mlc::client
