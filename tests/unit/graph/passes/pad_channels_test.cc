#include "compiler/graph/passes/pad_channels.h"

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

Result<bool> Pads(Graph& graph) { return PadChannels(graph); }

TEST(PadChannels, FillsSixteenBytes) {
  Check(Pads,
        "%0 = input() : f32[1,3,2,2] %1 = constant() {values=[1.0,2.0,3.0]} : f32[1,3,1,1] "
        "%2 = conv(%0, %1) : f32[1,1,2,2] return %2",
        "%0 = input() : f32[1,3,2,2] %1 = pad(%0) {pads=[0,0,0,0,0,1,0,0]} : f32[1,4,2,2] "
        "%2 = constant() {values=[1.0,2.0,3.0,0.0]} : f32[1,4,1,1] "
        "%3 = conv(%1, %2) : f32[1,1,2,2] return %3");
}

TEST(PadChannels, PadsBeforeTheCast) {
  Check(Pads,
        "%0 = input() : f32[1,3,2,2] %1 = cast(%0) : f16[1,3,2,2] "
        "%2 = constant() {values=[1.0,2.0,3.0]} : f16[1,3,1,1] "
        "%3 = conv(%1, %2) : f16[1,1,2,2] return %3",
        "%0 = input() : f32[1,3,2,2] %1 = pad(%0) {pads=[0,0,0,0,0,5,0,0]} : f32[1,8,2,2] "
        "%2 = cast(%1) : f16[1,8,2,2] "
        "%3 = constant() {values=[1.0,2.0,3.0,0.0,0.0,0.0,0.0,0.0]} : f16[1,8,1,1] "
        "%4 = conv(%2, %3) : f16[1,1,2,2] return %4");
}

TEST(PadChannels, LeavesWhatIsWholeOrTooThinOrNotConstant) {
  for (const std::string text :
       {"%0 = input() : f32[1,4,2,2] %1 = constant() {values=[1.0,2.0,3.0,4.0]} : f32[1,4,1,1] "
        "%2 = conv(%0, %1) : f32[1,1,2,2] return %2",
        "%0 = input() : f32[1,1,2,2] %1 = constant() {values=[1.0]} : f32[1,1,1,1] "
        "%2 = conv(%0, %1) : f32[1,1,2,2] return %2",
        "%0 = input() : f32[1,3,2,2] %1 = input() : f32[1,3,1,1] "
        "%2 = conv(%0, %1) : f32[1,1,2,2] return %2"}) {
    Check(Pads, text, text);
  }
}

TEST(PadChannels, LeavesImagesThatKernelsRead) {
  std::string halves = "0.5";
  for (int i = 1; i < 8 * 2; ++i) halves += ",0.5";
  const std::string text = "%0 = input() : f32[1,2,2,2] %1 = constant() {values=[" + halves +
                           "]} : f32[8,2,1,1] %2 = conv(%0, %1) {precision=tf32} : "
                           "f32[1,8,2,2] return %2";
  Check([](Graph& graph) { return PadChannels(graph, true); }, text, text);
}

}  // namespace
}  // namespace mlc::graph
