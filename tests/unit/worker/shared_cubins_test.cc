#include "worker/build/shared_cubins.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/process/bytes.h"
#include "base/process/child.h"
#include "base/process/frame.h"

namespace mlc::worker {
namespace {

namespace fs = std::filesystem;

// Compiles anything, to an image larger than a socket's buffer.
class Compiler : public build::Nvrtc {
 public:
  std::string version() const override { return "0.0"; }
  std::string path() const override { return "nowhere"; }
  std::string options() const override { return ""; }
  Result<build::CudaBinary> Compile(const std::string& source, const std::string&) override {
    if (source == "bad") return InvalidArgument("refused");
    build::CudaBinary binary;
    binary.image = source + std::string(3 << 20, '.');
    return binary;
  }
};

class SharedCubinsTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  // What a sandboxed child's body sends over its pipe, while the cache serves it.
  std::string InChild(SharedCubins& cubins,
                      const std::function<std::string(const CubinExchange&)>& body) {
    auto exchange = CubinExchange::Open();
    EXPECT_TRUE(exchange.ok());
    Child::Options options;
    options.keep = (*exchange)->ChildDescriptors();
    Result<Child> child =
        Child::Start(options, [&](int pipe) { WriteAll(pipe, body(**exchange)); });
    EXPECT_TRUE(child.ok());
    (*exchange)->CloseChildSide();
    while (child->Read()) {
      cubins.Serve(**exchange, compiler_);
      pollfd waiting[] = {{child->pipe(), POLLIN, 0}, {(*exchange)->fd(), POLLIN, 0}};
      (void)poll(waiting, 2, 1000);
    }
    cubins.Serve(**exchange, compiler_);
    EXPECT_EQ(child->Reap(), 0) << child->ErrorText();
    return std::move(child->received());
  }
  std::string Compiled(SharedCubins& cubins, const std::string& source) {
    return InChild(cubins, [&](const CubinExchange& exchange) {
      const auto made = exchange.Compiler(compiler_)->Compile(source, "sm_90a");
      return made.ok() ? made->image.substr(0, source.size()) : made.status().message();
    });
  }

  const std::string folder_ = ::testing::TempDir() + "/shared_cubins_" + std::to_string(getpid());
  Compiler compiler_;
};

TEST_F(SharedCubinsTest, WhatOneChildMadeTheNextOneIsGiven) {
  SharedCubins cubins(folder_);
  EXPECT_EQ(cubins.ToText(), "");
  EXPECT_EQ(Compiled(cubins, "one"), "one");
  EXPECT_EQ(Compiled(cubins, "two"), "two");
  EXPECT_EQ(cubins.ToText(), "0 of 2 kernels from the cache");
  EXPECT_EQ(Compiled(cubins, "one"), "one");
  EXPECT_EQ(Compiled(cubins, "bad"), "refused");
  SharedCubins later(folder_);
  EXPECT_EQ(Compiled(later, "two"), "two");
  EXPECT_EQ(cubins.ToText(), "1 of 4 kernels from the cache");
  EXPECT_EQ(later.ToText(), "1 of 1 kernels from the cache");
  EXPECT_EQ(cubins.TakeWarning() + later.TakeWarning(), "");
}

TEST_F(SharedCubinsTest, DamagedFilesAreCompiledAnewAndReplaced) {
  SharedCubins cubins(folder_);
  ASSERT_EQ(Compiled(cubins, "one"), "one");
  const fs::path file = fs::directory_iterator(folder_)->path();
  fs::resize_file(file, 100);
  EXPECT_EQ(Compiled(cubins, "one"), "one");
  EXPECT_EQ(cubins.ToText(), "0 of 2 kernels from the cache");
  EXPECT_EQ(Compiled(cubins, "one"), "one");
  EXPECT_EQ(cubins.ToText(), "1 of 3 kernels from the cache");
}

TEST_F(SharedCubinsTest, WithoutAFolderThatCanBeWrittenKernelsAreCompiledAndPeopleAreToldOnce) {
  SharedCubins gone(folder_);
  fs::remove_all(folder_);
  EXPECT_EQ(Compiled(gone, "one"), "one");
  EXPECT_NE(gone.TakeWarning().find("the cache of device code is of no use: cannot write into"),
            std::string::npos);
  EXPECT_EQ(Compiled(gone, "one"), "one");
  EXPECT_EQ(gone.TakeWarning(), "");
  SharedCubins never("/dev/null/cubins");
  EXPECT_FALSE(never.used());
  EXPECT_NE(never.TakeWarning().find("kernels are compiled without a cache"), std::string::npos);
  EXPECT_EQ(never.TakeWarning(), "");
}

// A child that was taken over can only store under the name of a source that it asked for, once.
TEST_F(SharedCubinsTest, AChildThatSendsNonsenseChangesNothing) {
  SharedCubins cubins(folder_);
  const std::string told = InChild(cubins, [&](const CubinExchange& exchange) {
    const int socket = exchange.ChildDescriptors()[0];
    WriteAll(socket, Frame(""));
    WriteAll(socket, Frame("Qno lengths"));
    WriteAll(socket, Frame("M" + build::Encode(*compiler_.Compile("unasked", "sm_90a"))));
    ByteWriter question;
    question.Put('Q');
    question.PutText("sm_90a");
    question.PutText("one");
    const std::string asked = question.Take();
    WriteAll(socket, Frame(asked));
    WriteAll(socket, Frame(asked));
    WriteAll(socket, Frame("Mgarbage"));
    WriteAll(socket, Frame("M" + build::Encode(*compiler_.Compile("late", "sm_90a"))));
    WriteAll(socket, std::string(8, '\xff'));
    return std::string("done");
  });
  EXPECT_EQ(told, "done");
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(Compiled(cubins, "one"), "one");
  EXPECT_EQ(cubins.TakeWarning(), "");
}

}  // namespace
}  // namespace mlc::worker
