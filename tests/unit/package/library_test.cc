#include "compiler/package/library.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "compiler/front/front.h"
#include "compiler/schedule/space/family.h"
#include "tests/e2e/library/small_models.h"
#include "tests/unit/package/elf_file.h"

namespace mlc::package {
namespace {

namespace fs = std::filesystem;

class Library : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<graph::Program> built = front::BuildProgram(testing::Perceptron(), {});
    ASSERT_TRUE(built.ok()) << built.status().message();
    program_ = *built;
    for (const graph::Task& task : program_.tasks) {
      const auto families = schedule::FamiliesFor(task.workload, target_);
      ASSERT_FALSE(families.empty()) << task.workload.Summary();
      choices_.push_back({families[0]->Default(task.workload, target_), FromDefault(), 0, {}});
    }
    root_ = ::testing::TempDir() + "mlc_library_test_" + std::to_string(getpid());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  LibraryOptions Options(const std::string& folder) const {
    LibraryOptions options;
    options.directory = root_ + "/" + folder;
    options.name = "net";
    return options;
  }

  Result<LibraryReport> Write(const LibraryOptions& options) const {
    return WriteLibrary(program_, choices_, target_, options);
  }

  std::vector<std::string> FilesIn(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_ + "/" + folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  graph::Program program_;
  target::Target target_ = target::DetectHost(2);
  std::vector<Choice> choices_;
  std::string root_;
};

TEST_F(Library, ExportsItsTableAndNeedsLibcAlone) {
  const Result<LibraryReport> report = Write(Options("a"));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->shared_library, root_ + "/a/libnet.so");
  const ElfFile file = ReadElf(report->shared_library);
  EXPECT_EQ(file.type, ET_DYN);
  EXPECT_THAT(file.exported, ::testing::ElementsAre("mlc_model_entry", "net_model"));
  EXPECT_THAT(file.needed, ::testing::ElementsAre("libc.so.6"));
  EXPECT_THAT(file.imported, ::testing::IsSupersetOf({"calloc", "free", "mmap", "munmap"}));
  for (const std::string& symbol : file.imported) {
    EXPECT_EQ(symbol.find("mlc"), std::string::npos) << symbol;
    EXPECT_EQ(symbol.find("__cpu"), std::string::npos) << symbol;
  }
  EXPECT_FALSE(file.writable_and_executable);
  EXPECT_LT(file.loaded_bytes - report->weights_bytes, 2 << 20);
  EXPECT_GT(report->code_bytes, 0);
  EXPECT_GT(report->arena_bytes, 0);
}

TEST_F(Library, FolderHoldsTheLibraryAndNothingElse) {
  ASSERT_TRUE(Write(Options("embedded")).ok());
  EXPECT_THAT(FilesIn("embedded"),
              ::testing::ElementsAre("libnet.a", "libnet.so", "mlc_model.h", "net.h"));
  LibraryOptions options = Options("beside");
  options.embed_weights = false;
  const Result<LibraryReport> report = Write(options);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(FilesIn("beside"), ::testing::ElementsAre("libnet.a", "libnet.so", "mlc_model.h",
                                                        "net.h", "net.weights"));
  EXPECT_EQ(static_cast<int64_t>(fs::file_size(root_ + "/beside/net.weights")),
            report->weights_bytes);
}

TEST_F(Library, SameInputsGiveTheSameBytes) {
  LibraryOptions options = Options("a");
  ASSERT_TRUE(Write(options).ok());
  options.directory = root_ + "/b";
  options.parallel = 3;
  ASSERT_TRUE(Write(options).ok());
  for (const std::string& name : FilesIn("a")) {
    EXPECT_TRUE(ReadBytes(root_ + "/a/" + name) == ReadBytes(root_ + "/b/" + name)) << name;
  }
  // Over an older library, too.
  ASSERT_TRUE(Write(options).ok());
  EXPECT_EQ(FilesIn("a"), FilesIn("b"));
}

TEST_F(Library, RefusesNamesThatAreNoSymbols) {
  LibraryOptions options = Options("a");
  for (const char* name : {"", "Net", "9net", "a-b", "a/../b", "a b", "caf\xc3\xa9"}) {
    options.name = name;
    EXPECT_EQ(Write(options).status(),
              InvalidArgument("'" + std::string(name) +
                              "' cannot name a library: use lower-case letters, digits and '_'"));
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(Library, ConfigThatDoesNotFitNamesItsTask) {
  choices_[1].config.knobs.clear();
  const Status status = Write(Options("a")).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.message().starts_with("task 1 (")) << status.message();
  EXPECT_TRUE(FilesIn("a").empty());
}

TEST_F(Library, FolderThatCannotBeMadeIsNamed) {
  LibraryOptions options = Options("a");
  options.directory = "/proc/nowhere";
  const Status status = Write(options).status();
  EXPECT_EQ(status.code(), StatusCode::kUnwritable);
  EXPECT_TRUE(status.message().starts_with("cannot write '/proc/nowhere': ")) << status.message();
}

TEST(LibraryName, ComesFromAnyText) {
  EXPECT_EQ(LibraryNameFrom("resnet50"), "resnet50");
  EXPECT_EQ(LibraryNameFrom("My-Model.v2"), "my_model_v2");
  EXPECT_EQ(LibraryNameFrom("7up"), "model_7up");
  EXPECT_EQ(LibraryNameFrom(""), "model_");
  EXPECT_EQ(LibraryNameFrom("_x"), "model__x");
  EXPECT_EQ(LibraryNameFrom("\xc3\xa9"), "model___");
}

}  // namespace
}  // namespace mlc::package
