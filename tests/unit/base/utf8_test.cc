#include "base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace mlc {
namespace {

TEST(FirstCharacterTest, ReadsCharactersOfEveryLength) {
  struct Case {
    const char* text;
    char32_t code;
    size_t bytes;
  };
  for (const Case& one :
       {Case{"a", 'a', 1}, Case{"\x7f", 0x7f, 1}, Case{"\xc2\x80", 0x80, 2},
        Case{"\xdf\xbf", 0x7ff, 2}, Case{"\xe0\xa0\x80", 0x800, 3}, Case{"\xed\x9f\xbf", 0xd7ff, 3},
        Case{"\xee\x80\x80", 0xe000, 3}, Case{"\xf0\x90\x80\x80", 0x10000, 4},
        Case{"\xf4\x8f\xbf\xbf", 0x10ffff, 4}}) {
    const Utf8Character first = FirstCharacter(std::string(one.text) + "rest");
    EXPECT_TRUE(first.valid) << std::hex << static_cast<uint32_t>(one.code);
    EXPECT_EQ(first.code, one.code);
    EXPECT_EQ(first.bytes, one.bytes);
  }
}

TEST(FirstCharacterTest, TakesOneByteOfWhatIsNoCharacter) {
  for (const char* text : {"\x80", "\xff", "\xc1\x80", "\xc3", "\xc3(", "\xe0\x9f\xbf",
                           "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80"}) {
    const Utf8Character first = FirstCharacter(text);
    EXPECT_FALSE(first.valid) << text;
    EXPECT_EQ(first.bytes, 1u);
  }
}

}  // namespace
}  // namespace mlc
