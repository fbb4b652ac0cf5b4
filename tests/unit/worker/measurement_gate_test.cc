#include "worker/measure/measurement_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/process/child.h"
#include "base/process/lock_file.h"
#include "worker/agent/daemon.h"

namespace mlc::worker {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Mode = MeasurementGate::Mode;
using std::chrono::milliseconds;

class Gate : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/gate";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A child that holds the file until it is killed.
  Child Hold() const {
    Child::Options options;
    options.limits.sandbox = false;
    const std::string path = path_;
    Result<Child> child = Child::Start(options, [path](int pipe) {
      const MeasurementGate gate({path, true}, Mode::kExclusive);
      WriteAll(pipe, "held");
      for (;;) pause();
    });
    EXPECT_TRUE(child.ok());
    while (child->received().empty()) EXPECT_TRUE(child->Read());
    return *std::move(child);
  }

  std::string folder_ = ::testing::TempDir() + "/gate_XXXXXX";
  std::string path_;
};

TEST_F(Gate, ExclusiveHoldersWaitForEachOther) {
  Child::Options options;
  options.limits.sandbox = false;
  std::optional<Result<Child>> child;
  {
    const MeasurementGate gate({path_, true}, Mode::kExclusive);
    child = Child::Start(options, [&](int pipe) {
      WriteAll(pipe, "a");
      const MeasurementGate shared({path_, false}, Mode::kShared);
      WriteAll(pipe, "b");
    });
    ASSERT_TRUE(child->ok());
    while ((*child)->received().empty()) (*child)->Read();
    usleep(10'000);
    (*child)->Read();
    EXPECT_EQ((*child)->received(), "a") << "it entered while the gate was held";
  }
  while ((*child)->Read()) {
  }
  EXPECT_EQ((*child)->received(), "ab");
}

TEST_F(Gate, OneThatIsHeldForEverIsNotWaitedForForEver) {
  Child holder = Hold();
  const MeasurementGate gate({path_, false}, Mode::kExclusive, milliseconds(20));
  EXPECT_THAT(gate.held_by(), HasSubstr("process "));
  EXPECT_THAT(gate.held_by(), HasSubstr(" of user " + std::to_string(getuid())));
  holder.Kill();
  holder.Reap();
  const MeasurementGate free({path_, false}, Mode::kExclusive);
  EXPECT_EQ(free.held_by(), "");
}

TEST_F(Gate, NoFileIsMadeForAServer) {
  { const MeasurementGate gate({path_, false}, Mode::kExclusive); }
  EXPECT_FALSE(fs::exists(path_));
  { const MeasurementGate gate({path_, true}, Mode::kExclusive); }
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(Gate, NothingButAFileIsOpened) {
  std::ofstream(folder_ + "/other") << "";
  fs::create_symlink("other", path_);
  EXPECT_THAT(OpenLockFile(path_, true).status().message(), HasSubstr("it is a symbolic link"));
  fs::create_symlink("not there", folder_ + "/nowhere");
  EXPECT_FALSE(OpenLockFile(folder_ + "/nowhere", true).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/not there"));
  // Opening it to read waits for a writer.
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(OpenLockFile(fifo, true).status().message(), HasSubstr("it is no file"));
  EXPECT_FALSE(OpenLockFile(folder_, true).ok());
  EXPECT_FALSE(OpenLockFile("/dev/null", true).ok());
}

TEST_F(Gate, AFileOfOneUserServesTheOthers) {
  const mode_t before = umask(0077);
  const Result<int> file = OpenLockFile(path_, true);
  umask(before);
  ASSERT_TRUE(file.ok());
  struct stat found = {};
  ASSERT_EQ(fstat(*file, &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
  EXPECT_EQ(HolderOf(*file), "a process that this system does not show");
  close(*file);
}

TEST(GateOfAServer, IsTakenOfOneOnThisHostOnly) {
  EXPECT_EQ(GateNamedBy("unix:/run/mlc/socket", "/run/mlc/timing").path, "/run/mlc/timing");
  EXPECT_FALSE(GateNamedBy("unix:/run/mlc/socket", "/run/mlc/timing").make);
  EXPECT_EQ(GateNamedBy("tuner.lab:7443", "/run/mlc/timing").path, "");
  EXPECT_EQ(GateNamedBy("127.0.0.1:7650", "/home/work/.ssh/id").path, "");
  EXPECT_EQ(GateNamedBy("unix:/run/mlc/socket", "timing").path, "") << "of which folder?";
}

}  // namespace
}  // namespace mlc::worker
