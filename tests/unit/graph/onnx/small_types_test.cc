// Unsigned integers, and elements of 2, 4 and 8 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/onnx/low_bits.h"
#include "compiler/types/small_float.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using wire::FloatTensor;
using wire::Node;

constexpr int32_t kNumberOfF32 = 1;
constexpr int32_t kNumberOfU8 = 2;
constexpr int32_t kNumberOfI8 = 3;
constexpr int32_t kNumberOfU64 = 13;
constexpr int32_t kNumberOfF8E4M3Fn = 17;
constexpr int32_t kNumberOfF8E5M2 = 19;
constexpr int32_t kNumberOfI4 = 22;

// One node on operands of one type; the first result.
TensorDataRef RunOn(const std::string& node, int32_t type, const std::vector<TensorDataRef>& inputs,
                    int64_t opset = 23) {
  wire::GraphParts parts;
  parts.nodes = {node};
  const char* const names[] = {"a", "b"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    parts.inputs.push_back(wire::ValueInfo(names[i], type, wire::Dim(inputs[i]->dims[0])));
  }
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts, opset));
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  if (!graph.ok()) return nullptr;
  const Result<std::vector<TensorDataRef>> outputs = Evaluate(*graph, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
  return outputs.ok() ? outputs->front() : nullptr;
}

TensorDataRef U64s(const std::vector<int64_t>& bits) {
  return WriteInts(DType::kU64, {static_cast<int64_t>(bits.size())}, bits);
}

TEST(UnsignedIntegers, AreOrderedAndDividedWithoutASign) {
  const TensorDataRef a = U64s({-1, 1, -8, 7});  // the first and third are near 2^64
  const TensorDataRef b = U64s({2, -1, 16, 7});
  const auto ints = [&](const char* op) {
    const TensorDataRef y = RunOn(Node(op, {"a", "b"}, {"y"}), kNumberOfU64, {a, b});
    return y == nullptr ? std::vector<int64_t>() : ReadInts(*y);
  };
  EXPECT_THAT(ints("Less"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(ints("Max"), ElementsAre(-1, -1, -8, 7));
  EXPECT_THAT(ints("Min"), ElementsAre(2, 1, 16, 7));
  EXPECT_THAT(ints("Div"), ElementsAre(INT64_MAX, 0, 0x0fffffffffffffff, 1));
  EXPECT_THAT(ints("Mod"), ElementsAre(1, 1, 8, 0));
}

TEST(UnsignedIntegers, BecomeFloatsWithoutASign) {
  const TensorDataRef y =
      RunOn(Node("Cast", {"a"}, {"y"}, wire::IntAttr("to", 1)), kNumberOfU64, {U64s({-1, 3})});
  ASSERT_NE(y, nullptr);
  EXPECT_THAT(ReadDoubles(*y), ElementsAre(0x1p64, 3));
}

TEST(UnsignedIntegers, ShiftByAnyDistance) {
  const TensorDataRef a = U64s({-1, 1, 5, 5}), b = U64s({63, 63, 64, 1});
  const auto shifted = [&](const char* direction) {
    const TensorDataRef y =
        RunOn(Node("BitShift", {"a", "b"}, {"y"}, wire::TextAttr("direction", direction)),
              kNumberOfU64, {a, b});
    return y == nullptr ? std::vector<int64_t>() : ReadInts(*y);
  };
  EXPECT_THAT(shifted("RIGHT"), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(shifted("LEFT"), ElementsAre(INT64_MIN, INT64_MIN, 0, 10));
}

// Casts x to a type and back to f32.
std::vector<double> ThereAndBack(int32_t type, const std::vector<double>& x,
                                 const std::string& attributes = "") {
  wire::GraphParts parts;
  parts.nodes = {Node("Cast", {"x"}, {"s"}, wire::IntAttr("to", type) + attributes),
                 Node("Cast", {"s"}, {"y"}, wire::IntAttr("to", 1))};
  const std::vector<int64_t> dims = {static_cast<int64_t>(x.size())};
  parts.inputs = {wire::FloatValue("x", dims)};
  parts.outputs = {wire::FloatValue("y", dims)};
  return EvaluateFirst(ImportBytes(wire::Model(parts, 24)), {Floats(dims, x)});
}

TEST(SmallTypes, CastsOfIntegersKeepTheLowBits) {
  EXPECT_THAT(ThereAndBack(22, {-9, -8, 7, 8, 15}), ElementsAre(7, -8, 7, -8, -1));
  EXPECT_THAT(ThereAndBack(21, {-1, 15, 16, 17}), ElementsAre(15, 15, 0, 1));
  EXPECT_THAT(ThereAndBack(26, {-3, -2, 1, 2}), ElementsAre(1, -2, 1, -2));
  EXPECT_THAT(ThereAndBack(25, {3, 4, 5}), ElementsAre(3, 0, 1));
}

TEST(SmallTypes, CastsOfFloatsSaturateUnlessTheyMustNot) {
  const double infinity = INFINITY;
  EXPECT_THAT(ThereAndBack(17, {1e6, -infinity, 0.48, 449}), ElementsAre(448, -448, 0.46875, 448));
  EXPECT_THAT(ThereAndBack(19, {1e6, infinity}), ElementsAre(57344, 57344));
  const std::string not_saturating = wire::IntAttr("saturate", 0);
  EXPECT_THAT(ThereAndBack(19, {1e6, -1e6}, not_saturating), ElementsAre(infinity, -infinity));
  EXPECT_TRUE(std::isnan(ThereAndBack(17, {1e6}, not_saturating)[0]));
  EXPECT_TRUE(std::isnan(ThereAndBack(20, {1e6}, not_saturating)[0]));
  EXPECT_THAT(ThereAndBack(23, {0.47, 5, -9}), ElementsAre(0.5, 4, -6));
}

TEST(SmallTypes, ScalesRoundAsTheNodeSays) {
  const auto rounded = [](const char* mode) {
    return ThereAndBack(24, {1, 1.25, 1.75, 3}, wire::TextAttr("round_mode", mode));
  };
  EXPECT_THAT(rounded("up"), ElementsAre(1, 2, 2, 4));
  EXPECT_THAT(rounded("down"), ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(rounded("nearest"), ElementsAre(1, 1, 2, 4));
}

TEST(SmallTypes, EveryCodeIsItsNumber) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (!IsSmall(type) || !IsFloat(type)) continue;
    for (unsigned code = 0; code < 1U << BitsOf(type); ++code) {
      const double number = SmallFloatToDouble(type, code);
      if (std::isnan(number)) continue;
      const double largest = LargestOf(type);
      if (std::isinf(number)) continue;
      EXPECT_LE(std::abs(number), largest);
      EXPECT_EQ(DoubleToSmallFloat(type, number), code) << ToText(type);
    }
  }
}

TEST(SmallTypes, ArePackedInFilesAndAByteEachInTheGraph) {
  const LowBitType& type = *FindLowBitType(kNumberOfI4);
  const std::string packed("\xf1\x07", 2);
  const TensorDataRef data = UnpackLowBits(type, {3}, packed);
  EXPECT_EQ(data->bytes.size(), 3u);
  EXPECT_THAT(ReadInts(*data), ElementsAre(1, -1, 7));
  EXPECT_EQ(PackLowBits(type, *data), packed);
  EXPECT_EQ(StoredForm(*data), std::make_pair(kNumberOfI4, packed));
}

TEST(SmallTypes, ConstantsGiveTheirTypeToWhatIsQuantisedLikeThem) {
  wire::GraphParts parts;
  parts.nodes = {Node("QuantizeLinear", {"x", "scale", "zero"}, {"y"})};
  parts.initializers = {FloatTensor("scale", {}, {0.5}),
                        wire::Tensor("zero", kNumberOfI4, {}, std::string(1, '\1'))};
  parts.inputs = {wire::FloatValue("x", {3})};
  parts.outputs = {wire::ValueInfo("y", kNumberOfI4, wire::Dim(3))};
  const Result<Graph> graph = ImportBytes(wire::Model(parts, 23));
  EXPECT_THAT(EvaluateFirst(graph, {Floats({3}, {1, -20, 20})}), ElementsAre(3, -8, 7));
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ((*graph)[graph->outputs()[0]].type.dtype, DType::kI4);
}

TEST(SmallTypes, OfZeroPointsAreThoseOfTheValues) {
  const auto import = [](const std::string& node, int32_t type, int32_t type_of_zero) {
    wire::GraphParts parts;
    parts.nodes = {node};
    parts.initializers = {FloatTensor("scale", {}, {0.5}),
                          wire::Tensor("zero", type_of_zero, {}, std::string(1, '\0'))};
    parts.inputs = {wire::ValueInfo("x", type, wire::Dim(3))};
    parts.outputs = {wire::FloatValue("y", {})};
    return ImportBytes(wire::Model(parts, 23)).status();
  };
  const std::string dequantize = Node("DequantizeLinear", {"x", "scale", "zero"}, {"y"});
  const std::string quantize = Node("QuantizeLinear", {"x", "scale", "zero"}, {"y"},
                                    wire::IntAttr("output_dtype", kNumberOfI8));
  EXPECT_TRUE(import(dequantize, kNumberOfI4, kNumberOfI4).ok());
  EXPECT_EQ(import(dequantize, kNumberOfF8E4M3Fn, kNumberOfU8),
            InvalidArgument("node of 'y' (DequantizeLinear): the zero point is u8, the values are "
                            "f8e4m3fn: they must have the same type"));
  EXPECT_EQ(import(quantize, kNumberOfF32, kNumberOfU8),
            InvalidArgument("node of 'y' (QuantizeLinear): the zero point is u8, output_dtype is "
                            "i8: they must be the same type"));
  EXPECT_TRUE(import(quantize, kNumberOfF32, kNumberOfI8).ok());
}

// Numbers beyond the range of e4m3 (448), and of e5m2.
TEST(SmallTypes, SaturateWhereQuantisationSaysSo) {
  const auto run = [](int64_t type, int64_t saturate) {
    wire::GraphParts parts;
    parts.nodes = {Node("QuantizeLinear", {"x", "scale"}, {"q"},
                        wire::IntAttr("output_dtype", type) + wire::IntAttr("saturate", saturate)),
                   Node("Cast", {"q"}, {"y"}, wire::IntAttr("to", kNumberOfF32))};
    parts.initializers = {FloatTensor("scale", {}, {0.5})};
    parts.inputs = {wire::FloatValue("x", {3})};
    parts.outputs = {wire::FloatValue("y", {3})};
    return EvaluateFirst(ImportBytes(wire::Model(parts, 23)), {Floats({3}, {1, -1000, 1e6})});
  };
  EXPECT_THAT(run(kNumberOfF8E4M3Fn, 1), ElementsAre(2, -448, 448));
  EXPECT_THAT(run(kNumberOfF8E4M3Fn, 0), ElementsAre(2, IsNan(), IsNan()));
  EXPECT_THAT(run(kNumberOfF8E5M2, 1), ElementsAre(2, -2048, 57344));
  EXPECT_THAT(run(kNumberOfF8E5M2, 0), ElementsAre(2, -2048, INFINITY));
}

TEST(SmallTypes, AreNotComputedWith) {
  wire::GraphParts parts;
  parts.nodes = {Node("Add", {"a", "a"}, {"y"})};
  parts.inputs = {wire::ValueInfo("a", kNumberOfI4, wire::Dim(3))};
  parts.outputs = {wire::ValueInfo("y", kNumberOfI4, wire::Dim(3))};
  EXPECT_THAT(ImportBytes(wire::Model(parts, 23)).status().message(),
              HasSubstr("type i4 are moved and converted only: cast them"));
}

}  // namespace
}  // namespace mlc::graph::onnx
