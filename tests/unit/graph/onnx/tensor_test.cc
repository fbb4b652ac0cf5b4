#include "compiler/graph/onnx/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/graph/onnx/parse.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::ElementsAre;

Result<TensorDataRef> Read(const std::string& bytes) {
  const Result<TensorMessage> message = ParseTensor(bytes);
  if (!message.ok()) return message.status();
  // The bytes live on in the caller; aligned data may point into them.
  return ReadTensor(*message, nullptr, nullptr);
}

TEST(Tensors, ReadEveryDataField) {
  const std::string floats =
      wire::Number(1, 2) + wire::Number(2, 1) + wire::Bytes(4, wire::Raw<float>({1.5F, -2}));
  EXPECT_THAT(ReadDoubles(**Read(floats)), ElementsAre(1.5, -2));
  const std::string ints = wire::Number(1, 2) + wire::Number(2, 7) +
                           wire::Bytes(7, wire::Varint(300) + wire::Varint(~uint64_t{0}));
  EXPECT_THAT(ReadInts(**Read(ints)), ElementsAre(300, -1));
  const std::string bools =
      wire::Number(1, 2) + wire::Number(2, 9) + wire::Number(5, 1) + wire::Number(5, 0);
  EXPECT_THAT(ReadInts(**Read(bools)), ElementsAre(1, 0));
  const std::string halves = wire::Number(1, 1) + wire::Number(2, 10) + wire::Number(5, 0x3c00);
  EXPECT_THAT(ReadDoubles(**Read(halves)), ElementsAre(1));
}

TEST(Tensors, WidenFourBitIntegers) {
  const std::string raw("\xf1\x07", 2);  // 1, -1, 7
  EXPECT_THAT(ReadInts(**Read(wire::Tensor("q", 22, {3}, raw))), ElementsAre(1, -1, 7));
  EXPECT_THAT(ReadInts(**Read(wire::Tensor("q", 21, {3}, raw))), ElementsAre(1, 15, 7));
}

TEST(Tensors, WidenTwoBitIntegers) {
  EXPECT_THAT(ReadInts(**Read(wire::Tensor("q", 26, {4}, "\xe4"))), ElementsAre(0, 1, -2, -1));
  EXPECT_THAT(ReadInts(**Read(wire::Tensor("q", 25, {3}, "\xe4"))), ElementsAre(0, 1, 2));
}

// Each form by one, its largest number, its smallest one and minus one; the rest follow from these.
TEST(Tensors, WidenNarrowFloats) {
  const auto read = [](int32_t type, std::string_view raw, int64_t count) {
    const Result<TensorDataRef> tensor = Read(wire::Tensor("q", type, {count}, raw));
    EXPECT_TRUE(tensor.ok()) << tensor.status().ToString();
    return tensor.ok() ? ReadDoubles(**tensor) : std::vector<double>();
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(read(17, std::string("\x38\x7e\x01\xb8", 4), 4),
              ElementsAre(1, 448, std::ldexp(1, -9), -1));
  EXPECT_THAT(read(18, std::string("\x40\x7f\x01\xc0", 4), 4),
              ElementsAre(1, 240, std::ldexp(1, -10), -1));
  EXPECT_THAT(read(19, std::string("\x3c\x7b\x01\xfc", 4), 4),
              ElementsAre(1, 57344, std::ldexp(1, -16), -infinity));
  EXPECT_THAT(read(20, std::string("\x40\x7f\x01\xc0", 4), 4),
              ElementsAre(1, 57344, std::ldexp(1, -17), -1));
  EXPECT_THAT(read(23, std::string("\x71\xf2", 2), 4), ElementsAre(0.5, 6, 1, -6));
  EXPECT_THAT(read(24, std::string("\x7f\x82\x01", 3), 3), ElementsAre(1, 8, std::ldexp(1, -126)));
  for (const auto& [type, code] :
       {std::pair{17, '\xff'}, {18, '\x80'}, {19, '\x7d'}, {24, '\xff'}}) {
    EXPECT_THAT(read(type, std::string(1, code), 1), ElementsAre(testing::IsNan())) << type;
  }
}

TEST(Tensors, RefuseNarrowDataThatDoesNotFitTheShape) {
  EXPECT_EQ(Read(wire::Tensor("q", 22, {3}, "1")).status(),
            InvalidArgument("tensor 'q' has 1 bytes of data, its shape needs 2"));
  EXPECT_EQ(Read(wire::Tensor("q", 17, {3}, "12")).status(),
            InvalidArgument("tensor 'q' has 2 bytes of data, its shape needs 3"));
}

TEST(Tensors, RefuseDataThatDoesNotFitTheShape) {
  EXPECT_EQ(Read(wire::Tensor("w", 1, {2}, "1234")).status(),
            InvalidArgument("tensor 'w' has 4 bytes of data, its shape needs 8"));
  EXPECT_EQ(Read(wire::Tensor("w", 1, {-2, -2}, "")).status(),
            InvalidArgument("tensor 'w' has the negative dimension -2"));
  EXPECT_EQ(Read(wire::Tensor("w", 1, {int64_t{1} << 32, int64_t{1} << 32}, "")).status(),
            InvalidArgument("tensor 'w' is too large: a value may take 64 GiB"));
  EXPECT_EQ(Read(wire::Tensor("w", 99, {1}, "1234")).status(),
            InvalidArgument("tensor 'w': element type 99 does not exist"));
  EXPECT_EQ(Read(wire::Tensor("w", 8, {1}, "1234")).status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Read(wire::Tensor("w", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "1234")).status(),
            InvalidArgument("tensor 'w' has more than 8 dimensions"));
}

TEST(Tensors, RefuseTwoDataFields) {
  const std::string raw = wire::FloatTensor("w", {2}, {1, 2});
  const std::string floats = wire::Bytes(4, wire::Raw<float>({3, 4}));
  EXPECT_EQ(Read(raw + floats).status(),
            InvalidArgument("tensor 'w' has its data twice, in raw_data and in float_data: leave "
                            "one of them out"));
  const std::string ints = wire::Number(1, 1) + wire::Number(2, 7) + wire::Bytes(8, "n");
  EXPECT_EQ(Read(ints + wire::Number(7, 1) + wire::Number(5, 1)).status(),
            InvalidArgument("tensor 'n' has its data twice, in int64_data and in int32_data: leave "
                            "one of them out"));
  const std::string external = wire::Number(14, 1) + wire::Bytes(13, wire::Bytes(1, "location"));
  EXPECT_EQ(Read(raw + external).status(),
            InvalidArgument("tensor 'w' has its data in another file and in raw_data: leave one of "
                            "them out"));
  EXPECT_TRUE(Read(raw + wire::Bytes(4, "")).ok());  // an empty field holds no data
}

TEST(Tensors, RefuseDataOfNoElements) {
  const std::string empty = wire::Number(1, 0) + wire::Number(2, 1) + wire::Bytes(8, "w");
  EXPECT_TRUE(Read(empty).ok());
  EXPECT_EQ(Read(empty + wire::Bytes(4, wire::Raw<float>({1}))).status(),
            InvalidArgument("tensor 'w' has 4 bytes of data, its shape needs 0"));
}

// A model that adds external data of 2 floats.
std::string ExternalModel(const std::vector<std::pair<std::string, std::string>>& keys) {
  std::string tensor = wire::Number(1, 2) + wire::Number(2, 1) + wire::Bytes(8, "w");
  for (const auto& [key, value] : keys) {
    tensor += wire::Bytes(13, wire::Bytes(1, key) + wire::Bytes(2, value));
  }
  wire::GraphParts parts;
  parts.nodes = {wire::Node("Add", {"x", "w"}, {"y"})};
  parts.initializers = {tensor + wire::Number(14, 1)};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  return wire::Model(parts);
}

TEST(ExternalData, IsReadBesideTheModel) {
  const TempFolder folder;
  folder.Write("w.bin", "....." + wire::Raw<float>({3, 4}));
  const std::string path = folder.Write(
      "m.onnx", ExternalModel({{"location", "w.bin"}, {"offset", "5"}, {"length", "8"}}));
  EXPECT_THAT(EvaluateFirst(ImportOnnx(path, {}), {Floats({2}, {1, 1})}), ElementsAre(4, 5));
}

TEST(ExternalData, MayHaveFourBits) {
  const TempFolder folder;
  folder.Write("w.bin", std::string("?\x21\x0f", 3));
  const auto model = [&](const std::string& length) {
    const auto pair = [](const std::string& key, const std::string& value) {
      return wire::Bytes(13, wire::Bytes(1, key) + wire::Bytes(2, value));
    };
    wire::GraphParts parts;
    parts.nodes = {wire::Node("DequantizeLinear", {"w", "s"}, {"d"}),
                   wire::Node("Add", {"x", "d"}, {"y"})};
    parts.initializers = {wire::Number(1, 3) + wire::Number(2, 22) + wire::Bytes(8, "w") +
                              wire::Number(14, 1) + pair("location", "w.bin") +
                              pair("offset", "1") + pair("length", length),
                          wire::FloatTensor("s", {}, {1})};
    parts.inputs = {wire::FloatValue("x", {3})};
    parts.outputs = {wire::FloatValue("y", {})};
    return ImportOnnx(folder.Write("m.onnx", wire::Model(parts, 21)), {});
  };
  EXPECT_THAT(EvaluateFirst(model("2"), {Floats({3}, {0, 0, 0})}), ElementsAre(1, 2, -1));
  EXPECT_THAT(model("3").status().message(), testing::HasSubstr("runs past the end"));
  EXPECT_THAT(model("1").status().message(),
              testing::HasSubstr("external data has 1 bytes, its shape needs 2"));
}

TEST(ExternalData, IsFoundBesideTheFileThatALinkedModelResolvesTo) {
  const TempFolder store;
  const TempFolder links;
  store.Write("w.bin", wire::Raw<float>({3, 4}));
  const std::string path = store.Write("m.onnx", ExternalModel({{"location", "w.bin"}}));
  std::filesystem::create_symlink(path, links.path("model.onnx"));
  EXPECT_TRUE(ImportOnnx(links.path("model.onnx"), {}).ok());
}

TEST(ExternalData, RefusesEveryWayOut) {
  const TempFolder outside;
  const std::string secret = outside.Write("w.bin", wire::Raw<float>({3, 4}));
  const TempFolder folder;
  std::filesystem::create_symlink(secret, folder.path("link.bin"));
  std::filesystem::create_directory_symlink(outside.path(), folder.path("dir"));
  folder.Write("w.bin", wire::Raw<float>({3, 4}));
  using Keys = std::vector<std::pair<std::string, std::string>>;
  const std::pair<Keys, const char*> cases[] = {
      {{{"location", secret}}, "is absolute"},
      {{{"location", "a/../w.bin"}}, "holds '..'"},
      {{{"location", "a\\w.bin"}}, "holds a backslash"},
      {{{"location", std::string("w.bin\0x", 7)}}, "holds a NUL byte"},
      {{{"location", ""}}, "is empty"},
      {{{"location", "http://h/w"}}, "is a URL"},
      {{{"location", "link.bin"}}, "cannot open external data 'link.bin'"},
      {{{"location", "dir/w.bin"}}, "cannot open external data 'dir/w.bin'"},
      {{{"location", "."}}, "is not a regular file"},
      {{{"location", "w.bin"}, {"location", "w.bin"}}, "is given twice"},
      {{{"location", "w.bin"}, {"offset", "-1"}}, "is not a non-negative number"},
      {{{"location", "w.bin"}, {"offset", "1"}}, "runs past the end"},
      {{{"location", "w.bin"}, {"length", "4"}}, "has 4 bytes, its shape needs 8"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "runs past the end"},
      {{{"location", "w.bin"}, {"__class__", "x"}}, "unknown external data key '__class__'"},
  };
  for (const auto& [keys, message] : cases) {
    SCOPED_TRACE(message);
    const Result<Graph> graph = ImportOnnx(folder.Write("m.onnx", ExternalModel(keys)), {});
    EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(graph.status().message(), testing::HasSubstr(message));
    EXPECT_THAT(graph.status().message(), testing::HasSubstr("'w'"));
  }
}

}  // namespace
}  // namespace mlc::graph::onnx
