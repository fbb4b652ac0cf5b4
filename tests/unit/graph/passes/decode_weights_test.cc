#include "compiler/graph/passes/decode_weights.h"

#include "compiler/graph/ops.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

const std::string kMatrix =
    "%0 = input() : f32[2,2] %1 = constant() {values=[33,67]} : u8[2,1] "
    "%2 = constant() {values=[1.0,10.0]} : f32[2,1] "
    "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,2] ";
const std::string kDecoded =
    "%0 = input() : f32[2,2] %1 = constant() {values=[0.0,1.0,20.0,30.0]} : f32[2,2] "
    "%2 = transpose(%1) {perm=[1,0]} : f32[2,2] ";

constexpr PackedReads kAll = {.rows = 1 << 20};
constexpr PackedReads kNarrow = {.rows = 2, .narrow = true};

auto Others(const PackedReads& reads) {
  return [reads](Graph& graph) { return DecodeOtherWeights(graph, reads); };
}
auto Unread(const PackedReads& reads) {
  return [reads](Graph& graph) { return DecodeUnread(graph, reads); };
}

TEST(DecodeWeights, MakesConstantsOfNumbers) {
  Check(DecodeWeights, kMatrix + "%4 = matmul(%0, %3) : f32[2,2] return %4",
        kDecoded + "%3 = matmul(%0, %2) : f32[2,2] return %3");
}

TEST(DecodeOtherWeights, LeavesTheRightOperandsOfProducts) {
  const std::string text = kMatrix +
                           "%4 = matmul(%0, %3) : f32[2,2] %5 = matmul(%4, %3) : f32[2,2] "
                           "return %5";
  Check(Others(kAll), text, text);
  Check(Unread(kAll), text, text);
}

TEST(DecodeOtherWeights, DecodesWhatAnythingElseReads) {
  for (const std::string rest :
       {"%4 = add(%0, %3) : f32[2,2] return %4", "%4 = matmul(%3, %0) : f32[2,2] return %4",
        "%4 = matmul(%0, %3) : f32[2,2] %5 = add(%4, %3) : f32[2,2] return %5",
        "%4 = matmul(%0, %3) : f32[2,2] return %4, %3"}) {
    const Result<Graph> before = Graph::Parse("graph v1 {" + kMatrix + rest + " }");
    ASSERT_TRUE(before.ok()) << before.status().message();
    Graph after = *before;
    const Result<bool> changed = DecodeOtherWeights(after, kAll);
    ASSERT_TRUE(changed.ok() && *changed) << rest;
    for (ValueId id = 0; id < after.size(); ++id) EXPECT_NE(after[id].op, Op::kDequantize) << rest;
    EXPECT_EQ(Difference(*before, after, 1), 0) << rest;
  }
}

TEST(DecodeOtherWeights, LeavesFloat8WhereKernelsReadIt) {
  const std::string text =
      "%0 = input() : f16[2,16] %1 = constant() {value=0.5} : f8e4m3fn[1,16] "
      "%2 = constant() {value=2.0} : f16[1,1] "
      "%3 = dequantize(%1, %2) {bits=8, block=16, depth=16, zero=0} : f16[16,1] "
      "%4 = matmul(%0, %3) : f16[2,1] return %4";
  Graph graph = *Graph::Parse("graph v1 {" + text + " }");
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kConstant) graph[id].data = ConstantData(graph[id]);
  }
  for (const bool is_read : {false, true}) {
    Graph after = graph;
    const Result<bool> changed =
        DecodeOtherWeights(after, {.rows = 2, .narrow = true, .float8 = is_read});
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(*changed, !is_read);
    EXPECT_EQ(Difference(graph, after, 1), 0);
  }
}

std::string Product(const std::string& type, const std::string& rows, const std::string& block,
                    const std::string& zeros = "") {
  const std::string more = zeros.empty() ? "" : "%3 = constant() {value=1.0} : " + zeros + "[1,2] ";
  const std::string at = zeros.empty() ? "%3" : "%4", next = zeros.empty() ? "%4" : "%5";
  return "%0 = input() : " + type + "[" + rows + ",16] %1 = constant() {value=33} : u8[1,8] " +
         "%2 = constant() {value=1.0} : " + type + "[1,2] " + more + at + " = dequantize(%1, %2" +
         (zeros.empty() ? "" : ", %3") + ") {bits=4, block=" + block +
         ", depth=16, zero=1} : " + type + "[16,1] " + next + " = matmul(%0, " + at +
         ") : " + type + "[" + rows + ",1] return " + next;
}

// Whether a dequantize node is left.
bool Stays(const std::string& text, const PackedReads& reads) {
  Result<Graph> graph = Graph::Parse("graph v1 {" + text + " }");
  EXPECT_TRUE(graph.ok()) << graph.status().message() << text;
  if (!graph.ok()) return false;
  // Data of splats is not known to the decoding: as in a graph without data, nothing changes.
  for (ValueId id = 0; id < graph->size(); ++id) {
    Value& node = (*graph)[id];
    if (node.op == Op::kConstant && !node.data) {
      node.data = ConstantData(node);
      node.attrs.clear();
    }
  }
  EXPECT_TRUE(DecodeUnread(*graph, reads).ok());
  graph->Compact();
  for (ValueId id = 0; id < graph->size(); ++id) {
    if ((*graph)[id].op == Op::kDequantize) return true;
  }
  return false;
}

TEST(DecodeUnread, LeavesWhatTheDeviceReads) {
  EXPECT_TRUE(Stays(Product("bf16", "2", "8"), kNarrow));
  EXPECT_TRUE(Stays(Product("f16", "1", "8", "u8"), kNarrow));
  EXPECT_FALSE(Stays(Product("bf16", "3", "8"), kNarrow)) << "too many rows";
  EXPECT_FALSE(Stays(Product("bf16", "2", "8", "bf16"), kNarrow)) << "zeros of another type";
  EXPECT_FALSE(Stays(Product("f32", "2", "8"), kNarrow));
  EXPECT_TRUE(Stays(Product("f32", "2", "8"), {.rows = 2, .narrow = true, .narrows = true}));
  EXPECT_TRUE(Stays(Product("f32", "3", "8"), kAll));
  EXPECT_FALSE(Stays(Product("f32", "3", "8"), {}));
}

// A graph's text names large data by digest: there is nothing to decode.
TEST(DecodeWeights, LeavesWhatIsNotKnown) {
  const std::string text =
      "%0 = input() : f32[2,2] %1 = weight() : u8[2,1] %2 = weight() : f32[2,1] "
      "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,2] "
      "%4 = matmul(%0, %3) : f32[2,2] return %4";
  Check(DecodeWeights, text, text);
}

TEST(DequantizeNode, IsRefusedIfItsPartsDoNotFit) {
  const auto verdict = [](const std::string& codes, const std::string& scales,
                          const std::string& attributes, const std::string& type) {
    const Result<Graph> graph =
        Graph::Parse("graph v1 { %0 = weight() : " + codes + " %1 = weight() : " + scales +
                     " %2 = dequantize(%0, %1) {" + attributes + "} : " + type + " return %2 }");
    return graph.ok() ? graph->Verify().message() : graph.status().message();
  };
  const std::string usual = "bits=4, block=32, depth=64, zero=8";
  EXPECT_EQ(verdict("u8[3,32]", "f32[3,2]", usual, "f32[64,3]"), "");
  const std::string cases[][4] = {
      {"u8[3,32]", "f32[3,2]", "bits=3, block=32, depth=64, zero=8", "f32[64,3]"},
      {"u8[3,32]", "f32[3,2]", "bits=0, block=32, depth=64, zero=8", "f32[64,3]"},
      {"u8[3,32]", "f32[3,2]", "bits=4, block=0, depth=64, zero=8", "f32[64,3]"},
      {"u8[3,32]", "f32[3,64]", "bits=4, block=1, depth=64, zero=8", "f32[64,3]"},
      {"u8[3,32]", "f32[3,2]", "bits=4, block=32, depth=0, zero=8", "f32[0,3]"},
      {"u8[3,32]", "f32[3,2]", "bits=4, block=32, depth=-64, zero=8", "f32[64,3]"},
      {"u8[3,32]", "f32[3,2]", "bits=4, block=32, depth=64, zero=256", "f32[64,3]"},
      {"u8[3,31]", "f32[3,2]", usual, "f32[64,3]"},
      {"u8[3,33]", "f32[3,2]", usual, "f32[64,3]"},
      {"i8[3,32]", "f32[3,2]", usual, "f32[64,3]"},
      {"u8[96]", "f32[3,2]", usual, "f32[64,3]"},
      {"u8[3,32]", "f32[3,3]", usual, "f32[64,3]"},
      {"u8[3,32]", "f64[3,2]", usual, "f32[64,3]"},
      {"u8[3,32]", "i32[3,2]", usual, "f32[64,3]"},
      {"u8[3,32]", "f32[3,2]", usual, "f64[64,3]"},
      {"u8[3,32]", "f32[3,2]", usual, "i8[64,3]"},
      {"u8[3,32]", "f32[3,2]", usual, "f32[3,64]"},
  };
  for (const auto& c : cases) EXPECT_NE(verdict(c[0], c[1], c[2], c[3]), "") << c[2] << c[0];
}

}  // namespace
}  // namespace mlc::graph
