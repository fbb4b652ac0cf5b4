// Mutated text never crashes the parser; what it accepts prints to a fixed point, counts its cost
// and goes through the passes. Seeded: a failure names the round.
#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "compiler/graph/passes/pipeline.h"
#include "compiler/graph/workload.h"

namespace mlc::graph {
namespace {

constexpr std::string_view kSeeds[] = {
    "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[1,8,6,6]{288,1,48,8}\n"
    "  %1 = weight() : f32[4,8,3,3]\n  %2 = constant() {value=0.0} : f32[]\n"
    "  %3 = conv(%0, %1) {dilations=[1,1], group=1, pads=[1,1,1,1], strides=[1,1]} : "
    "f32[1,4,6,6]\n  %4 = max(%3, %2) : f32[1,4,6,6]\n  return %4\n}\n",
    "graph v1 {\n  %0 = input() : f32[2,3,4]\n  %1 = transpose(%0) {perm=[0,2,1]} : f32[2,4,3]\n"
    "  %2 = matmul(%0, %1) : f32[2,3,3]\n  %3 = softmax(%2) {axis=2} : f32[2,3,3]\n"
    "  %4 = slice(%3) {starts=[0,2,0], steps=[1,-1,2]} : f32[2,3,2]\n"
    "  %5 = pad(%4) {mode=reflect, pads=[0,1,0,0,1,0], value=0.0} : f32[2,5,2]\n"
    "  %6 = constant() {values=[1,-1]} : i64[2]\n  %7 = gather(%5, %6) {axis=1} : f32[2,2,2]\n"
    "  return %7, %3\n}\n",
    "graph v1 {\n  %0 = input() : f32[1,4,6,6]\n"
    "  %1 = pool(%0) {count_include_pad=0, dilations=[1,1], kernel=[2,2], kind=max, "
    "pads=[0,0,0,0], strides=[2,2]} : f32[1,4,3,3]\n"
    "  %2 = reduce(%1) {axes=[2,3], keepdims=0, kind=mean} : f32[1,4]\n"
    "  %3 = layer_norm(%2, _, _) {axis=1, epsilon=1e-05} : f32[1,4]\n"
    "  %4 = view(%0) {offset=4} : f32[140]{1}\n"
    "  %5 = tile(%3) {repeats=[2,2]} : f32[2,8]\n  return %5, %4\n}\n"};

constexpr std::string_view kPieces[] = {"%0",      "-1",     "0",      "9223372036854775807",
                                        "1e308",   "nan",    "[",      "]",
                                        "{",       "}",      ",",      "f32",
                                        "i64",     "return", "expand", "1099511627776",
                                        "reshape", "_",      "(",      ")",
                                        "=",       ":"};

std::string Mutate(std::string text, Rng& rng) {
  const uint64_t edits = 1 + rng.Below(3);
  for (uint64_t i = 0; i < edits && !text.empty(); ++i) {
    size_t at = rng.Below(text.size());
    // Half of the edits change a digit: they reach the shape rules.
    if (rng.Below(2) == 0) {
      at = text.find_first_of("0123456789", at);
      if (at != std::string::npos) text[at] = static_cast<char>('0' + rng.Below(10));
      continue;
    }
    switch (rng.Below(5)) {
      case 0:
        text[at] = static_cast<char>(rng.Below(256));
        break;
      case 1:
        text.erase(at, 1 + rng.Below(8));
        break;
      case 2:
        text.insert(at, kPieces[rng.Below(std::size(kPieces))]);
        break;
      case 3:
        text[at] = static_cast<char>('0' + rng.Below(10));
        break;
      default:
        text.insert(at, text.substr(rng.Below(text.size()), rng.Below(60)));
    }
  }
  return text;
}

void Exercise(const std::string& text, int& accepted) {
  if (const Result<Workload> workload = Workload::Parse(text); workload.ok()) {
    ++accepted;
    const Result<Workload> again = Workload::Parse(workload->ToText());
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << workload->ToText();
    ASSERT_EQ(again->ToText(), workload->ToText());
    ASSERT_GE(workload->Flops(), 0);
    ASSERT_GE(workload->MinBytes(), 0);
    ASSERT_FALSE(workload->Summary().empty());
  }
  if (Result<Graph> graph = Graph::Parse(text); graph.ok()) {
    ++accepted;
    const Result<Graph> again = Graph::Parse(graph->ToText());
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_EQ(again->ToText(), graph->ToText());
    const auto reports = RunPasses(*graph);
    ASSERT_TRUE(reports.ok()) << reports.status().message();
  }
}

TEST(GraphText, SeedsAreAccepted) {
  int accepted = 0;
  for (const std::string_view seed : kSeeds) Exercise(std::string(seed), accepted);
  EXPECT_EQ(accepted, 3);
}

TEST(GraphText, SurvivesMutation) {
  Rng rng(20260101);
  int accepted = 0;
  for (int round = 0; round < 60000; ++round) {
    const std::string text = Mutate(std::string(kSeeds[rng.Below(std::size(kSeeds))]), rng);
    SCOPED_TRACE("round " + std::to_string(round));
    Exercise(text, accepted);
    if (HasFatalFailure()) FAIL() << text;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(GraphText, SurvivesTruncation) {
  int accepted = 0;
  for (const std::string_view seed : kSeeds) {
    for (size_t size = 0; size < seed.size(); ++size) {
      Exercise(std::string(seed.substr(0, size)), accepted);
    }
  }
  EXPECT_LE(accepted, 3);
}

}  // namespace
}  // namespace mlc::graph
