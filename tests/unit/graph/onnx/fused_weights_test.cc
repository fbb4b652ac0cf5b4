// Weights of a few bits in blocks: what they decode to, what decoding may cost, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;
using wire::IntAttr;

std::string Fused(std::string_view op, const std::vector<std::string>& operands,
                  const std::string& attributes, const std::string& result = "y") {
  return wire::Node(op, operands, {result}, attributes, "com.microsoft");
}

std::string Bytes(std::string_view name, const std::vector<int64_t>& dims,
                  const std::vector<uint8_t>& values) {
  return wire::Tensor(name, 2, dims, wire::Raw(values));
}

std::string Sizes(int64_t inner, int64_t columns, int64_t bits, int64_t block) {
  return IntAttr("K", inner) + IntAttr("N", columns) + IntAttr("bits", bits) +
         IntAttr("block_size", block);
}

// The codes 0 to 15 in one block of 16.
const std::vector<uint8_t> kEveryCode = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
const std::vector<double> kOnes(16, 1.0);

std::vector<std::string> Weights(const std::string& more = {}) {
  std::vector<std::string> constants = {Bytes("w", {1, 1, 8}, kEveryCode),
                                        FloatTensor("s", {1, 1}, {0.5})};
  if (!more.empty()) constants.push_back(more);
  return constants;
}

TEST(PackedWeights, HaveAZeroInTheMiddleUnlessTheyNameOne) {
  const std::string sizes = Sizes(16, 1, 4, 16);
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s"}, sizes), 21, {1, 16}, kOnes, Weights()),
              ElementsAre((120 - 16 * 8) * 0.5));
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s", "z"}, sizes), 21, {1, 16}, kOnes,
                      Weights(Bytes("z", {1, 1}, {3}))),
              ElementsAre((120 - 16 * 3) * 0.5));
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s", "z"}, sizes), 21, {1, 16}, kOnes,
                      Weights(FloatTensor("z", {1, 1}, {7.5}))),
              ElementsAre(0));
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s", "", "", "b"}, sizes), 21, {1, 16}, kOnes,
                      Weights(FloatTensor("b", {1}, {10}))),
              ElementsAre(6));
}

// Two bits: the bytes 0xe4 hold 0, 1, 2 and 3; eight bits: a byte is a code.
TEST(PackedWeights, HaveTwoOrEightBits) {
  const std::vector<std::string> two = {Bytes("w", {1, 1, 4}, {0xe4, 0xe4, 0xe4, 0xe4}),
                                        FloatTensor("s", {1}, {1})};
  EXPECT_THAT(
      RunNode(Fused("MatMulNBits", {"x", "w", "s"}, Sizes(16, 1, 2, 16)), 21, {1, 16}, kOnes, two),
      ElementsAre(24 - 16 * 2));
  std::vector<uint8_t> codes(16);
  std::iota(codes.begin(), codes.end(), 120);
  const std::vector<std::string> eight = {Bytes("w", {1, 1, 16}, codes),
                                          FloatTensor("s", {1}, {1})};
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s"}, Sizes(16, 1, 8, 16)), 21, {1, 16},
                      kOnes, eight),
              ElementsAre(-8));
}

TEST(PackedWeights, TakeTheScaleOfTheGroupThatIsNamed) {
  std::vector<uint8_t> codes(16, 0x99);  // 9, which is 1 above the zero
  const std::vector<std::string> constants = {
      Bytes("w", {1, 2, 8}, codes), FloatTensor("s", {1, 2}, {1, 100}),
      wire::Tensor("g", 6, {32}, wire::Raw(std::vector<int32_t>(32, 1)))};
  const std::vector<double> x(32, 1.0);
  const std::string sizes = Sizes(32, 1, 4, 16);
  EXPECT_THAT(RunNode(Fused("MatMulNBits", {"x", "w", "s"}, sizes), 21, {1, 32}, x, constants),
              ElementsAre(16 + 1600));
  EXPECT_THAT(
      RunNode(Fused("MatMulNBits", {"x", "w", "s", "", "g"}, sizes), 21, {1, 32}, x, constants),
      ElementsAre(3200));
}

Result<Graph> Import(const std::vector<std::string>& nodes,
                     const std::vector<std::string>& initializers, const ImportOptions& options) {
  wire::GraphParts parts;
  parts.nodes = nodes;
  parts.initializers = initializers;
  parts.inputs = {wire::FloatValue("x", {1, 16})};
  parts.outputs = {wire::FloatValue("y", {})};
  return ImportBytes(wire::Model(parts, 21), options);
}

// accuracy_level 4 lets rows be rounded to 8 bits; the reference does not round them.
TEST(PackedWeights, LetRowsBeRoundedAtLevelFour) {
  const auto marks = [](const std::string& more) {
    const std::string attributes = Sizes(16, 1, 4, 16) + more;
    EXPECT_THAT(
        RunNode(Fused("MatMulNBits", {"x", "w", "s"}, attributes), 21, {1, 16}, kOnes, Weights()),
        ElementsAre((120 - 16 * 8) * 0.5));
    const Result<Graph> graph =
        Import({Fused("MatMulNBits", {"x", "w", "s"}, attributes)}, Weights(), {});
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return graph->ToText().find("precision=i8") != std::string::npos;
  };
  EXPECT_TRUE(marks(IntAttr("accuracy_level", 4)));
  EXPECT_FALSE(marks(IntAttr("accuracy_level", 1)));
  EXPECT_FALSE(marks(""));
}

struct Refused {
  std::vector<std::string> operands;
  std::string attributes;
  std::vector<std::string> initializers;
  const char* message;
};

TEST(PackedWeights, RefuseWhatDoesNotFit) {
  const std::vector<std::string> usual = {"x", "w", "s"};
  const int64_t huge = int64_t{1} << 62;
  const Refused cases[] = {
      {usual, Sizes(16, 1, 3, 16), Weights(), "bits=3 (2, 4 and 8 are) is not supported"},
      {usual, Sizes(16, 1, 4, 24), Weights(), "block_size is 24: it must be a power of two"},
      {usual, Sizes(16, 1, 4, 8), Weights(), "block_size is 8: it must be a power of two"},
      {usual, Sizes(16, 1, 4, huge), Weights(), "block_size is 4611686018427387904"},
      {usual, Sizes(32, 1, 4, 16), Weights(), "the last dimension of operand 0 is not K=32"},
      {usual, Sizes(16, 2, 4, 16), Weights(), "the packed weights have 8 bytes, not 2 rows of 8"},
      {usual, Sizes(16, huge, 4, 16), Weights(), "K and N must be sizes from 1 to 2^30"},
      {usual, Sizes(16, 0, 4, 16), Weights(), "K and N must be sizes from 1 to 2^30"},
      {usual, Sizes(16, 1 << 30, 4, 1 << 30), Weights(), "the packed weights have 8 bytes"},
      {usual, Sizes(16, 1, 4, 16) + IntAttr("weight_prepacked", 1), Weights(), "weight_prepacked"},
      {{"x", "x", "s"}, Sizes(16, 1, 4, 16), Weights(), "the packed weights must be u8"},
      {{"x", "w", "s", "z"},
       Sizes(16, 1, 4, 16),
       Weights(Bytes("z", {2}, {3, 3})),
       "the packed weights have 2 bytes, not 1 rows of 1"},
      {{"x", "w", "s", "", "g"},
       Sizes(16, 1, 4, 16),
       Weights(wire::Tensor("g", 6, {16}, wire::Raw(std::vector<int32_t>(16, 1)))),
       "g_idx names block 1 of 1"},
      {{"x", "w", "s", "", "g"},
       Sizes(16, 1, 4, 16),
       Weights(wire::Tensor("g", 6, {3}, wire::Raw(std::vector<int32_t>(3, 0)))),
       "g_idx has 3 entries"},
      {{"x", "w", "t"},
       Sizes(16, 1, 4, 16),
       Weights(FloatTensor("t", {2}, {1, 1})),
       "the weights need 1 scales"},
      {{"x", "w", "x"}, Sizes(16, 1, 4, 16), Weights(), "depends on the model's inputs"},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.message);
    const Result<Graph> graph = Import({Fused("MatMulNBits", refused.operands, refused.attributes)},
                                       refused.initializers, {});
    EXPECT_THAT(graph.status().message(), HasSubstr(refused.message));
    EXPECT_THAT(graph.status().message(), HasSubstr("node of 'y' (MatMulNBits)"));
    EXPECT_EQ(graph.status().message().find('\n'), std::string::npos);
  }
}

TEST(PackedWeights, AreDecodedWithinABudget) {
  ImportOptions options;
  options.max_decoded_bytes = 16 * sizeof(float);
  const std::string node = Fused("MatMulNBits", {"x", "w", "s"}, Sizes(16, 1, 4, 16));
  EXPECT_TRUE(Import({node}, Weights(), options).ok());
  --options.max_decoded_bytes;
  EXPECT_THAT(Import({node}, Weights(), options).status().message(),
              HasSubstr("packed weights take more than"));
}

TEST(PackedWeights, AreDecodedOnceForEqualUses) {
  ImportOptions options;
  options.max_decoded_bytes = 16 * sizeof(float);
  const std::string sizes = Sizes(16, 1, 4, 16);
  const Result<Graph> graph = Import(
      {Fused("MatMulNBits", {"x", "w", "s"}, sizes, "a"),
       Fused("MatMulNBits", {"x", "w", "s"}, sizes, "b"), wire::Node("Add", {"a", "b"}, {"y"})},
      Weights(), options);
  EXPECT_THAT(EvaluateFirst(graph, {Floats({1, 16}, kOnes)}), ElementsAre(-8));
}

TEST(PackedWeights, AreNotDecodedInManyWays) {
  std::vector<std::string> nodes;
  std::vector<std::string> constants = Weights();
  std::vector<std::string> sum;
  for (int i = 0; i < 9; ++i) {
    const std::string name = std::to_string(i);
    constants.push_back(FloatTensor("s" + name, {1}, {static_cast<float>(i)}));
    nodes.push_back(Fused("MatMulNBits", {"x", "w", "s" + name}, Sizes(16, 1, 4, 16), "p" + name));
    sum.push_back("p" + name);
  }
  nodes.push_back(wire::Node("Sum", sum, {"y"}));
  EXPECT_THAT(Import(nodes, constants, {}).status().message(),
              HasSubstr("used in more than 8 different ways"));
}

TEST(PackedWeights, OfDequantizeLinearInBlocksAreOneConstant) {
  wire::GraphParts parts;
  parts.nodes = {wire::Node("DequantizeLinear", {"w", "s"}, {"d"},
                            IntAttr("axis", 0) + IntAttr("block_size", 2)),
                 wire::Node("Add", {"x", "d"}, {"y"})};
  parts.initializers = {wire::Tensor("w", 22, {4}, std::string("\x21\xf7", 2)),
                        FloatTensor("s", {2}, {1, 10})};
  parts.inputs = {wire::FloatValue("x", {4})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts, 21));
  EXPECT_THAT(EvaluateFirst(graph, {Floats({4}, {0, 0, 0, 0})}), ElementsAre(1, 2, 70, -10));
  EXPECT_EQ(graph->size(), 3) << graph->ToText();
}

int CountDequantize(const Graph& graph) {
  int count = 0;
  for (ValueId id = 0; id < graph.size(); ++id) count += graph[id].op == Op::kDequantize ? 1 : 0;
  return count;
}

// The product reads the very bytes of the model.
TEST(PackedWeights, OfProductsStayPacked) {
  const Result<Graph> graph =
      Import({Fused("MatMulNBits", {"x", "w", "s"}, Sizes(16, 1, 4, 16))}, Weights(), {});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(CountDequantize(*graph), 1) << graph->ToText();
}

// Codes [3,2] in blocks of 2 along axis 0, with scales {1, 2} and {10, 100}.
struct MatrixForm {
  int32_t type;
  std::string codes;
  std::string zeros;
  std::vector<double> expected;
  int64_t bits;
};

Result<Graph> ImportMatrix(const MatrixForm& form, bool is_transposed) {
  std::vector<std::string> operands = {"w", "s"};
  if (!form.zeros.empty()) operands.emplace_back("z");
  const int64_t depth = is_transposed ? 2 : 3;
  wire::GraphParts parts;
  parts.nodes = {wire::Node("DequantizeLinear", operands, {"d"},
                            IntAttr("axis", 0) + IntAttr("block_size", 2)),
                 wire::Node("Transpose", {"d"}, {"t"}),
                 wire::Node("MatMul", {"x", is_transposed ? "t" : "d"}, {"y"})};
  parts.initializers = {wire::Tensor("w", form.type, {3, 2}, form.codes),
                        FloatTensor("s", {2, 2}, {1, 2, 10, 100})};
  if (!form.zeros.empty()) {
    parts.initializers.push_back(wire::Tensor("z", form.type, {2, 2}, form.zeros));
  }
  parts.inputs = {wire::FloatValue("x", {depth, depth})};
  parts.outputs = {wire::FloatValue("y", {})};
  return ImportBytes(wire::Model(parts, 21));
}

void CheckMatrix(const MatrixForm& form, bool is_transposed) {
  const int64_t depth = is_transposed ? 2 : 3;
  std::vector<double> unit(static_cast<size_t>(depth * depth), 0);
  for (int64_t i = 0; i < depth; ++i) unit[static_cast<size_t>(i * depth + i)] = 1;
  std::vector<double> expected = form.expected;
  for (size_t i = 0; is_transposed && i < 6; ++i) expected[i % 2 * 3 + i / 2] = form.expected[i];
  const Result<Graph> graph = ImportMatrix(form, is_transposed);
  EXPECT_THAT(EvaluateFirst(graph, {Floats({depth, depth}, unit)}),
              Pointwise(DoubleNear(0), expected));
  ASSERT_EQ(CountDequantize(*graph), 1) << graph->ToText();
  for (ValueId id = 0; id < graph->size(); ++id) {
    if ((*graph)[id].op != Op::kDequantize) continue;
    EXPECT_EQ((*graph)[id].Int("bits"), form.bits);
  }
}

// One bit pattern for each type of codes, with and without zero points, takes as few bits as its
// codes need.
TEST(PackedWeights, OfDequantizeLinearInBlocksStayPackedIfTheyAreAMatrix) {
  const std::string none;
  const std::string four("\xf1\x72\x38", 3);
  const std::string eight("\x01\xff\x02\x07\xf8\x03", 6);
  const MatrixForm forms[] = {
      {22, four, none, {1, -2, 2, 14, -80, 300}, 4},
      {21, four, none, {1, 30, 2, 14, 80, 300}, 4},
      {3, eight, none, {1, -2, 2, 14, -80, 300}, 4},
      {3, std::string("\x01\xff\x02\x64\xf8\x03", 6), none, {1, -2, 2, 200, -80, 300}, 8},
      {2, eight, none, {1, 510, 2, 14, 2480, 300}, 8},
      {3, eight, std::string("\x01\x01\x01\x01", 4), {0, -4, 1, 12, -90, 200}, 4},
      {3, eight, std::string("\x01\x02\x03\x9c", 4), {0, -6, 1, 10, -110, 10300}, 8},
  };
  for (const MatrixForm& form : forms) {
    CheckMatrix(form, false);
    CheckMatrix(form, true);
  }
}

// Codes of float8 keep their bits: 1, -2, 0.5, 448, 2^-9 and 1.875.
TEST(PackedWeights, OfFloat8InBlocksStayWhatTheyAre) {
  const MatrixForm e4m3 = {
      17, "\x38\xc0\x30\x7e\x01\x3f", "", {1, -4, 0.5, 896, 0.01953125, 187.5}, 8};
  const MatrixForm e5m2 = {
      19, std::string("\x3c\xc0\x38\x5f\x00\x3f", 6), "", {1, -4, 0.5, 896, 0, 175}, 8};
  for (const MatrixForm& form : {e4m3, e5m2}) {
    CheckMatrix(form, false);
    CheckMatrix(form, true);
  }
  // A NaN is a number like any other for constants.
  const Result<Graph> graph = ImportMatrix({17, "\x7f\xc0\x30\x7e\x01\x3f", "", {}, 8}, false);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(CountDequantize(*graph), 0);
}

// A table of two rows of two blocks; rows are gathered before they are decoded.
TEST(PackedWeights, AreGathered) {
  std::vector<uint8_t> codes(16, 0x88);
  for (int i = 0; i < 2; ++i) codes.insert(codes.end(), kEveryCode.begin(), kEveryCode.end());
  wire::GraphParts parts;
  const std::string attributes = IntAttr("block_size", 16);
  parts.nodes = {Fused("GatherBlockQuantized", {"w", "i", "s"}, attributes, "g"),
                 wire::Node("Add", {"g", "x"}, {"y"})};
  parts.initializers = {Bytes("w", {2, 16}, codes), FloatTensor("s", {2, 2}, {5, 5, 2, 3}),
                        wire::Tensor("i", 7, {}, wire::Raw<int64_t>({1}))};
  parts.inputs = {wire::FloatValue("x", {1})};
  parts.outputs = {wire::FloatValue("y", {})};
  std::vector<double> expected;
  for (int i = 0; i < 32; ++i) expected.push_back((i < 16 ? 2 : 3) * (i % 16 - 8));
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts, 21)), {Floats({1}, {0})}),
              Pointwise(DoubleNear(0), expected));
}

TEST(PackedWeights, AreNotGatheredIfTheirShapeIsUnclear) {
  const auto refusal = [](const std::vector<int64_t>& codes, const std::vector<int64_t>& scales,
                          const std::string& attributes) {
    const auto count = [](const std::vector<int64_t>& dims) {
      return static_cast<size_t>(dims[0] * dims[1]);
    };
    return Import({Fused("GatherBlockQuantized", {"w", "i", "s"}, attributes)},
                  {Bytes("w", codes, std::vector<uint8_t>(count(codes))),
                   FloatTensor("s", scales, std::vector<float>(count(scales))),
                   wire::Tensor("i", 7, {}, wire::Raw<int64_t>({1}))},
                  {})
        .status()
        .message();
  };
  EXPECT_THAT(refusal({2, 16}, {2, 3}, IntAttr("block_size", 16)),
              HasSubstr("the scales do not have one entry a block of the codes"));
  EXPECT_THAT(refusal({2, 8}, {2, 1}, IntAttr("block_size", 16)),
              HasSubstr("whether its u8 codes are packed is ambiguous"));
  EXPECT_THAT(refusal({2, 16}, {2, 2}, IntAttr("block_size", 16) + IntAttr("gather_axis", 1)),
              HasSubstr("packed data need gather_axis=0"));
  EXPECT_THAT(refusal({2, 16}, {2, 2}, IntAttr("block_size", 0)), HasSubstr("block_size is 0"));
}

}  // namespace
}  // namespace mlc::graph::onnx
