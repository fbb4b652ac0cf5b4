#include "compiler/package/elf_object.h"
#include "tests/temporary_folder.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "compiler/package/loaded_bytes.h"
#include "tests/unit/package/elf_file.h"

namespace mlc::package {
namespace {

std::string Path(const char* name) {
  static const tests::TemporaryFolder folder;
  return folder.path(name);
}

ElfObject TwoSections(const std::string& machine) {
  ElfObject object(machine);
  const int tables = object.AddSection("tables", std::string(24, '\0'), true);
  const int texts = object.AddSection("texts", "hello", false);
  object.Define("my_tables", tables, 0, 24, false);
  object.Define("my_texts", texts, 0, 5, true);
  object.Point(tables, 8, "my_texts", 2);
  object.Point(tables, 16, "somewhere_else", 0);
  return object;
}

TEST(ElfObject, HoldsSectionsSymbolsAndPointers) {
  const std::string path = Path("two.o");
  ASSERT_TRUE(TwoSections("x86_64").WriteTo(path).ok());
  const ElfFile file = ReadElf(path);
  EXPECT_EQ(file.type, ET_REL);
  EXPECT_EQ(file.machine, EM_X86_64);
  EXPECT_THAT(file.sections,
              ::testing::ElementsAre("", ".data.rel.ro.tables", ".rodata.texts", ".rela0",
                                     ".symtab", ".strtab", ".note.GNU-stack", ".shstrtab"));
  EXPECT_THAT(file.symbols, ::testing::ElementsAre("my_tables", "my_texts", "somewhere_else"));
  EXPECT_NE(ReadBytes(path).find("hello"), std::string::npos);
}

TEST(LoadedBytes, CountsWhatALibraryLoads) {
  const std::string path = Path("loaded.o");
  ASSERT_TRUE(TwoSections("x86_64").WriteTo(path).ok());
  EXPECT_EQ(LoadedBytes(path), 24 + 5);
  const std::string text = Path("text.ptx");
  std::ofstream(text, std::ios::binary) << std::string(200, 'x');
  EXPECT_EQ(LoadedBytes(text), 0);
  EXPECT_EQ(LoadedBytes(Path("missing.o")), 0);
}

TEST(ElfObject, KnowsTheOtherArchitecture) {
  const std::string path = Path("arm.o");
  ASSERT_TRUE(TwoSections("aarch64").WriteTo(path).ok());
  EXPECT_EQ(ReadElf(path).machine, EM_AARCH64);
}

TEST(ElfObject, SameContentsGiveTheSameBytes) {
  const std::string a = Path("a.o"), b = Path("b.o");
  ASSERT_TRUE(TwoSections("x86_64").WriteTo(a).ok());
  ASSERT_TRUE(TwoSections("x86_64").WriteTo(b).ok());
  EXPECT_EQ(ReadBytes(a), ReadBytes(b));
}

TEST(ElfObject, StreamsASectionFromAFile) {
  const std::string data = Path("data"), path = Path("file.o");
  std::string bytes;
  for (int i = 0; i < 3000000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  std::ofstream(data, std::ios::binary) << bytes;
  ElfObject object("x86_64");
  const int section = object.AddFileSection("weights", data, static_cast<int64_t>(bytes.size()));
  object.Define("weights", section, 0, static_cast<int64_t>(bytes.size()), true);
  ASSERT_TRUE(object.WriteTo(path).ok());
  EXPECT_NE(ReadBytes(path).find(bytes), std::string::npos);

  object.AddFileSection("longer", data, static_cast<int64_t>(bytes.size()) + 1);
  EXPECT_EQ(object.WriteTo(path), DataLoss("'" + data + "' is shorter than expected"));
  std::remove(data.c_str());
  EXPECT_EQ(object.WriteTo(path), NotFound("cannot read '" + data + "'"));
}

TEST(ElfObject, SaysWhatItCannotWrite) {
  EXPECT_EQ(TwoSections("x86_64").WriteTo("/nowhere/at/all.o"),
            Unwritable("cannot write '/nowhere/at/all.o'"));
}

}  // namespace
}  // namespace mlc::package
