#include "compiler/graph/onnx/wire.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::graph::onnx {
namespace {

TEST(WireReader, ReadsFieldsOfEveryType) {
  const std::string bytes =
      wire::Number(1, -5) + wire::Bytes(2, "text") + wire::Float(3, 1.5F) + "\x21" + "12345678";
  WireReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 1u);
  EXPECT_EQ(reader.Signed(), -5);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.bytes(), "text");
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Float(), 1.5F);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.type(), WireType::kFixed64);
  EXPECT_EQ(reader.number(), 0x3837363534333231u);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.status().ok());
}

TEST(WireReader, SkipsGroupsWithWhatTheyHold) {
  const std::string group = "\x0b" + wire::Number(7, 1) + wire::Bytes(2, "in") + "\x0c";
  const std::string bytes = group + wire::Number(5, 9);
  WireReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.field(), 5u);
  EXPECT_EQ(reader.number(), 9u);
}

struct Broken {
  const char* name;
  std::string bytes;
  const char* message;
};

TEST(WireReader, NamesWhatIsBroken) {
  const Broken cases[] = {
      {"a tag of field 0", std::string("\x00\x01", 2), "a field's number is out of range"},
      {"a cut number", "\x08\xff", "a number is cut off"},
      {"a length past the end", "\x0a\x05x", "a length runs past the end of the file"},
      {"an overlong number", std::string("\x08") + std::string(11, '\xff'), "a number is cut off"},
      {"a cut float", "\x0d\x01", "a fixed-size field is cut off"},
      {"wire type 7", "\x0f", "a field has an unknown wire type"},
      {"an open group", "\x0b", "a group is not closed"},
      {"a group closed by another", "\x0b\x14", "a group is closed by another one"},
  };
  for (const Broken& broken : cases) {
    SCOPED_TRACE(broken.name);
    WireReader reader(broken.bytes);
    EXPECT_FALSE(reader.Next());
    EXPECT_EQ(reader.status(), InvalidArgument("the file is not a valid ONNX model: " +
                                               std::string(broken.message)));
  }
}

}  // namespace
}  // namespace mlc::graph::onnx
