#include "compiler/graph/passes/recognize_rotary.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

// [-second half, first half] of %0 is %5.
constexpr char kTurned[] =
    "%0 = input() : f32[2,3,4] %1 = input() : f32[3,4] %2 = input() : f32[3,4] "
    "%3 = slice(%0) {starts=[0,0,2]} : f32[2,3,2] %4 = neg(%3) : f32[2,3,2] "
    "%5 = slice(%0) {starts=[0,0,0]} : f32[2,3,2] "
    "%6 = concat(%4, %5) {axis=2} : f32[2,3,4] ";

TEST(RecognizeRotary, JoinsNoHalves) {
  Check(RecognizeRotary,
        std::string(kTurned) +
            "%7 = mul(%0, %1) : f32[2,3,4] %8 = mul(%6, %2) : f32[2,3,4] "
            "%9 = add(%7, %8) : f32[2,3,4] return %9",
        "%0 = input() : f32[2,3,4] %1 = input() : f32[3,4] %2 = input() : "
        "f32[3,4] "
        "%3 = reshape(%0) : f32[2,3,2,2] "
        "%4 = slice(%3) {starts=[0,0,1,0], steps=[1,1,-1,1]} : f32[2,3,2,2] "
        "%5 = constant() {values=[-1.0,1.0]} : f32[2,1] %6 = reshape(%2) : "
        "f32[3,2,2] "
        "%7 = mul(%6, %5) : f32[3,2,2] %8 = reshape(%1) : f32[3,2,2] "
        "%9 = mul(%3, %8) : f32[2,3,2,2] %10 = mul(%4, %7) : f32[2,3,2,2] "
        "%11 = add(%9, %10) : f32[2,3,2,2] %12 = reshape(%11) : f32[2,3,4] "
        "return %12");
}

void ExpectNoJoin(const std::string& before) {
  const Result<Graph> from = Graph::Parse("graph v1 { " + before + " }");
  ASSERT_TRUE(from.ok()) << from.status().message();
  Graph graph = *from;
  const Result<bool> changed = RecognizeRotary(graph);
  ASSERT_TRUE(changed.ok() && *changed) << before;
  EXPECT_EQ(graph.ToText().find("concat"), std::string::npos) << graph.ToText();
  EXPECT_LT(Difference(*from, graph, 7), 1e-7);
}

TEST(RecognizeRotary, TurnsTheFirstElementsAlone) {
  ExpectNoJoin(
      "%0 = input() : f32[2,6] %1 = input() : f32[2,4] %2 = slice(%0) "
      "{starts=[0,0]} : f32[2,4] "
      "%3 = slice(%0) {starts=[0,2]} : f32[2,2] %4 = neg(%3) : f32[2,2] "
      "%5 = slice(%0) {starts=[0,0]} : f32[2,2] %6 = concat(%4, %5) {axis=1} : "
      "f32[2,4] "
      "%7 = mul(%6, %1) : f32[2,4] %8 = mul(%1, %2) : f32[2,4] %9 = add(%7, "
      "%8) : f32[2,4] "
      "return %9");
}

// Of %0, the pairs from 2: [-x3, x2, -x5, x4] is %8; the cosines and sines are known.
constexpr char kPairs[] =
    "%0 = input() : f32[2,8] %1 = constant() {values=[0.5,0.25,0.5,1]} : f32[4] "
    "%2 = slice(%0) {starts=[0,3], steps=[1,2]} : f32[2,2] %3 = neg(%2) : f32[2,2] "
    "%4 = slice(%0) {starts=[0,2], steps=[1,2]} : f32[2,2] %5 = reshape(%3) : f32[2,2,1] "
    "%6 = reshape(%4) : f32[2,2,1] %7 = concat(%5, %6) {axis=2} : f32[2,2,2] "
    "%8 = reshape(%7) : f32[2,4] %9 = slice(%0) {starts=[0,2]} : f32[2,4] "
    "%10 = mul(%9, %1) : f32[2,4] %11 = mul(%8, %1) : f32[2,4] %12 = add(%10, %11) : f32[2,4] ";

TEST(RecognizeRotary, TurnsPairs) { ExpectNoJoin(std::string(kPairs) + "return %12"); }

TEST(RecognizeRotary, TurnsAPartOfAHeadWithTheRest) {
  // The last four of six elements by pairs, and the first two of six by halves.
  ExpectNoJoin(
      "%0 = input() : f32[2,6] %1 = constant() {values=[0.5,0.25,0.5,1]} : f32[4] "
      "%2 = slice(%0) {starts=[0,3], steps=[1,2]} : f32[2,2] %3 = neg(%2) : f32[2,2] "
      "%4 = slice(%0) {starts=[0,2], steps=[1,2]} : f32[2,2] %5 = reshape(%3) : f32[2,2,1] "
      "%6 = reshape(%4) : f32[2,2,1] %7 = concat(%5, %6) {axis=2} : f32[2,2,2] "
      "%8 = reshape(%7) : f32[2,4] %9 = slice(%0) {starts=[0,2]} : f32[2,4] "
      "%10 = mul(%9, %1) : f32[2,4] %11 = mul(%8, %1) : f32[2,4] %12 = add(%10, %11) : f32[2,4] "
      "%13 = slice(%0) {starts=[0,0]} : f32[2,2] %14 = concat(%13, %12) {axis=1} : f32[2,6] "
      "return %14");
  // Of a part of a tensor, as queries are of one with all heads.
  ExpectNoJoin(std::string(kPairs) +
               "%13 = slice(%0) {starts=[0,6]} : f32[2,2] "
               "%14 = concat(%12, %13) {axis=1} : f32[2,6] return %14");
  ExpectNoJoin(
      "%0 = input() : f32[2,6] %1 = constant() {values=[0.5,0.25]} : f32[2] "
      "%2 = slice(%0) {starts=[0,1]} : f32[2,1] %3 = neg(%2) : f32[2,1] "
      "%4 = slice(%0) {starts=[0,0]} : f32[2,1] %5 = concat(%3, %4) {axis=1} : f32[2,2] "
      "%6 = slice(%0) {starts=[0,0]} : f32[2,2] %7 = mul(%6, %1) : f32[2,2] "
      "%8 = mul(%5, %1) : f32[2,2] %9 = add(%7, %8) : f32[2,2] "
      "%10 = slice(%0) {starts=[0,2]} : f32[2,4] %11 = concat(%9, %10) {axis=1} : f32[2,6] "
      "return %11");
}

// Halves of four elements are none of six, and the rest must follow.
TEST(RecognizeRotary, LeavesPartsThatDoNotFit) {
  const std::string halves =
      "%0 = input() : f32[2,6] %1 = input() : f32[2,4] %2 = slice(%0) {starts=[0,0]} : f32[2,4] "
      "%3 = slice(%0) {starts=[0,2]} : f32[2,2] %4 = neg(%3) : f32[2,2] "
      "%5 = slice(%0) {starts=[0,0]} : f32[2,2] %6 = concat(%4, %5) {axis=1} : f32[2,4] "
      "%7 = mul(%6, %1) : f32[2,4] %8 = mul(%1, %2) : f32[2,4] %9 = add(%7, %8) : f32[2,4] "
      "%10 = slice(%0) {starts=[0,4]} : f32[2,2] %11 = concat(%9, %10) {axis=1} : f32[2,6] "
      "return %11";
  const std::string elsewhere =
      std::string(kPairs) +
      "%13 = slice(%0) {starts=[0,4]} : f32[2,4] %14 = concat(%12, %13) {axis=1} : f32[2,8] "
      "return %14";
  for (const std::string& before : {halves, elsewhere}) {
    const Result<Graph> from = Graph::Parse("graph v1 { " + before + " }");
    ASSERT_TRUE(from.ok()) << from.status().message();
    Graph graph = *from;
    ASSERT_TRUE(RecognizeRotary(graph).ok());
    EXPECT_NE(graph.ToText().find("concat"), std::string::npos);
    EXPECT_LT(Difference(*from, graph, 7), 1e-7);
  }
}

// The pairs of neighbours (a, b) of %0, from a token on, are (-b, a) in %10.
std::string Pairs(const std::string& first_token, const std::string& tokens) {
  const std::string part = " : f32[2," + tokens + ",2] ";
  const std::string column = " : f32[2," + tokens + ",2,1] ";
  const std::string whole = " : f32[2," + tokens + ",4] ";
  return "%4 = slice(%0) {starts=[0," + first_token + ",1], steps=[1,1,2]}" + part +
         "%5 = neg(%4)" + part + "%6 = slice(%0) {starts=[0," + first_token +
         ",0], steps=[1,1,2]}" + part + "%7 = reshape(%5)" + column + "%8 = reshape(%6)" + column +
         "%9 = concat(%7, %8) {axis=3} : f32[2," + tokens + ",2,2] %10 = reshape(%9)" + whole +
         "%11 = mul(%3, %1)" + whole + "%12 = mul(%10, %2)" + whole + "%13 = add(%11, %12)" + whole;
}

TEST(RecognizeRotary, TurnsPairsOfNeighbours) {
  Check(RecognizeRotary,
        "%0 = input() : f32[2,3,4] %1 = input() : f32[3,4] %2 = input() : f32[3,4] "
        "%3 = slice(%0) {starts=[0,0,0]} : f32[2,3,4] " +
            Pairs("0", "3") + "return %13",
        "%0 = input() : f32[2,3,4] %1 = input() : f32[3,4] %2 = input() : f32[3,4] "
        "%3 = slice(%0) {starts=[0,0,0]} : f32[2,3,4] %4 = reshape(%3) : f32[2,3,2,2] "
        "%5 = slice(%4) {starts=[0,0,0,1], steps=[1,1,1,-1]} : f32[2,3,2,2] "
        "%6 = constant() {values=[-1.0,1.0]} : f32[2] %7 = reshape(%2) : f32[3,2,2] "
        "%8 = mul(%7, %6) : f32[3,2,2] %9 = reshape(%1) : f32[3,2,2] "
        "%10 = mul(%4, %9) : f32[2,3,2,2] %11 = mul(%5, %8) : f32[2,3,2,2] "
        "%12 = add(%10, %11) : f32[2,3,2,2] %13 = reshape(%12) : f32[2,3,4] return %13");
}

TEST(RecognizeRotary, ClassTokensTurnByNothing) {
  const std::string before =
      "%0 = input() : f32[2,3,4] %1 = constant() {values=[0.5,0.5,0.25,0.25,0.0,1.0,0.75,-1.0]} : "
      "f32[2,4] %2 = constant() {values=[0.1,0.2,0.3,0.4,-0.5,0.6,0.7,-0.8]} : f32[2,4] "
      "%3 = slice(%0) {starts=[0,1,0]} : f32[2,2,4] " +
      Pairs("1", "2") + "%14 = slice(%0) {starts=[0,0,0]} : f32[2,1,4] ";
  const Result<Graph> from = Graph::Parse(
      "graph v1 { " + before + "%15 = concat(%14, %13) {axis=1} : f32[2,3,4] return %15 }");
  ASSERT_TRUE(from.ok()) << from.status().message();
  Graph graph = *from;
  const Result<bool> changed = RecognizeRotary(graph);
  ASSERT_TRUE(changed.ok() && *changed);
  EXPECT_EQ(graph.ToText().find("concat"), std::string::npos) << graph.ToText();
  EXPECT_LT(Difference(*from, graph, 7), 1e-7);
  // Tokens behind the others have no place in front.
  Graph behind = *Graph::Parse("graph v1 { " + before +
                               "%15 = concat(%13, %14) {axis=1} : f32[2,3,4] return %15 }");
  const Graph unchanged = behind;
  ASSERT_TRUE(RecognizeRotary(behind).ok());
  EXPECT_NE(behind.ToText().find("concat"), std::string::npos);
  EXPECT_LT(Difference(unchanged, behind, 7), 1e-7);
}

TEST(RecognizeRotary, LeavesOtherJoinedHalves) {
  for (const char* body : {// not negated
                           "%0 = input() : f32[2,4] %1 = input() : f32[2,4] "
                           "%2 = slice(%0) {starts=[0,2]} : f32[2,2] %3 = slice(%0) "
                           "{starts=[0,0]} : f32[2,2] "
                           "%4 = concat(%2, %3) {axis=1} : f32[2,4] %5 = mul(%4, %1) : f32[2,4] "
                           "%6 = mul(%0, %1) : f32[2,4] %7 = add(%6, %5) : f32[2,4] return %7",
                           // halves in order
                           "%0 = input() : f32[2,4] %1 = input() : f32[2,4] "
                           "%2 = slice(%0) {starts=[0,0]} : f32[2,2] %3 = neg(%2) : f32[2,2] "
                           "%4 = slice(%0) {starts=[0,2]} : f32[2,2] "
                           "%5 = concat(%3, %4) {axis=1} : f32[2,4] %6 = mul(%5, %1) : f32[2,4] "
                           "%7 = mul(%0, %1) : f32[2,4] %8 = add(%7, %6) : f32[2,4] return %8",
                           // pairs, not negated
                           "%0 = input() : f32[2,4] %1 = input() : f32[2,4] "
                           "%2 = slice(%0) {starts=[0,1], steps=[1,2]} : f32[2,2] "
                           "%3 = slice(%0) {starts=[0,0], steps=[1,2]} : f32[2,2] "
                           "%4 = reshape(%2) : f32[2,2,1] %5 = reshape(%3) : f32[2,2,1] "
                           "%6 = concat(%4, %5) {axis=2} : f32[2,2,2] "
                           "%7 = reshape(%6) : f32[2,4] %8 = mul(%7, %1) : f32[2,4] "
                           "%9 = mul(%0, %1) : f32[2,4] %10 = add(%9, %8) : f32[2,4] return %10",
                           // thirds
                           "%0 = input() : f32[2,4] %1 = input() : f32[2,4] "
                           "%2 = slice(%0) {starts=[0,1]} : f32[2,3] %3 = neg(%2) : f32[2,3] "
                           "%4 = slice(%0) {starts=[0,0]} : f32[2,1] "
                           "%5 = concat(%3, %4) {axis=1} : f32[2,4] %6 = mul(%5, %1) : f32[2,4] "
                           "%7 = mul(%0, %1) : f32[2,4] %8 = add(%7, %6) : f32[2,4] return %8"}) {
    Check(RecognizeRotary, body, body);
  }
}

}  // namespace
}  // namespace mlc::graph
