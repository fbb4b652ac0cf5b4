#include "compiler/graph/passes/gather_rows.h"

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

// Rolls images of 2 x 2 rows by one along both axes.
constexpr char kRoll[] =
    "%1 = slice(%0) {starts=[0,1,0,0]} : f32[3,1,2,8] "
    "%2 = slice(%0) {starts=[0,0,0,0]} : f32[3,1,2,8] %3 = concat(%1, %2) {axis=1} : f32[3,2,2,8] "
    "%4 = slice(%3) {starts=[0,0,1,0]} : f32[3,2,1,8] "
    "%5 = slice(%3) {starts=[0,0,0,0]} : f32[3,2,1,8] %6 = concat(%4, %5) {axis=2} : f32[3,2,2,8] ";

TEST(GatherRows, RollAlongTwoAxesHasOneTableForAllImages) {
  Check(GatherRows,
        std::string("%0 = input() : f32[3,2,2,8] ") + kRoll +
            "%7 = reshape(%6) : f32[12,8] %8 = abs(%7) : f32[12,8] return %8",
        "%0 = input() : f32[3,2,2,8] %1 = reshape(%0) : f32[3,4,8] "
        "%2 = constant() {values=[3,2,1,0]} : i64[4] %3 = gather(%1, %2) {axis=1} : f32[3,4,8] "
        "%4 = reshape(%3) : f32[12,8] %5 = abs(%4) : f32[12,8] return %5");
}

TEST(GatherRows, RollOfOneImageAndItsWindows) {
  Check(GatherRows,
        "%0 = input() : f32[1,2,2,8] %1 = slice(%0) {starts=[0,0,1,0]} : f32[1,2,1,8] "
        "%2 = slice(%0) {starts=[0,0,0,0]} : f32[1,2,1,8] "
        "%3 = concat(%1, %2) {axis=2} : f32[1,2,2,8] "
        "%4 = transpose(%3) {perm=[0,2,1,3]} : f32[1,2,2,8] %5 = abs(%4) : f32[1,2,2,8] return %5",
        "%0 = input() : f32[1,2,2,8] %1 = reshape(%0) : f32[4,8] "
        "%2 = constant() {values=[1,3,0,2]} : i64[4] %3 = gather(%1, %2) {axis=0} : f32[4,8] "
        "%4 = reshape(%3) : f32[1,2,2,8] %5 = abs(%4) : f32[1,2,2,8] return %5");
}

TEST(GatherRows, LeavesWhatOneKernelMovesAndRowsOfSeveralValues) {
  for (const char* body :
       {// One concatenation.
        "%0 = input() : f32[4,8] %1 = slice(%0) {starts=[1,0]} : f32[3,8] "
        "%2 = slice(%0) {starts=[0,0]} : f32[1,8] %3 = concat(%1, %2) {axis=0} : f32[4,8] "
        "%4 = abs(%3) : f32[4,8] return %4",
        // Two sources.
        "%0 = input() : f32[2,2,8] %1 = input() : f32[2,2,8] "
        "%2 = concat(%0, %1) {axis=1} : f32[2,4,8] %3 = transpose(%2) {perm=[1,0,2]} : f32[4,2,8] "
        "%4 = abs(%3) : f32[4,2,8] return %4",
        // Short rows.
        "%0 = input() : f32[2,2,4] %1 = concat(%0, %0) {axis=1} : f32[2,4,4] "
        "%2 = transpose(%1) {perm=[1,0,2]} : f32[4,2,4] %3 = abs(%2) : f32[4,2,4] return %3",
        // Rows are cut.
        "%0 = input() : f32[2,2,16] %1 = slice(%0) {starts=[0,0,8]} : f32[2,2,8] "
        "%2 = slice(%0) {starts=[0,0,0]} : f32[2,2,8] %3 = concat(%1, %2) {axis=2} : f32[2,2,16] "
        "%4 = transpose(%3) {perm=[1,0,2]} : f32[2,2,16] %5 = abs(%4) : f32[2,2,16] return %5"}) {
    Check(GatherRows, body, body);
  }
}

}  // namespace
}  // namespace mlc::graph
