// The programs with many more threads than this machine has CPUs: limits of children count
// all of their threads, stacks and heaps, and a kernel's threads must not wait for one another by
// computing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/crash/process.h"

namespace mlc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ManyThreads : public ::testing::TestWithParam<int> {
 protected:
  ManyThreads() {
    folder_ = ::testing::TempDir() + "/mlc-threads-" + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/tiny.onnx", std::ios::binary) << crash::TinyModel();
  }
  ~ManyThreads() override { std::filesystem::remove_all(folder_); }

  // Of bash, in the folder; the exit code.
  int Run(const std::string& command) const {
    std::filesystem::remove(folder_ + "/said");
    return crash::Wait(
        crash::Spawn({"/bin/bash", "-c",
                      "PATH='" MLC_BINARY_DIR "/bin':$PATH; cd '" + folder_ + "'; " + command},
                     folder_ + "/said"));
  }
  std::string Said() const {
    std::ifstream file(folder_ + "/said");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_P(ManyThreads, DoctorTuningAndLibraryWork) {
  const std::string threads = " --threads " + std::to_string(GetParam());
  ASSERT_EQ(Run("mlc-worker --doctor" + threads), 0) << Said();
  EXPECT_THAT(Said(), HasSubstr(" for " + std::to_string(GetParam()) + " threads"));
  ASSERT_EQ(Run("mlc-tune --model tiny.onnx --trials 12 --log a.db" + threads), 0) << Said();
  EXPECT_THAT(Said(), Not(HasSubstr("infra"))) << "a trial was not made";
  EXPECT_THAT(Said(), Not(HasSubstr("run_timeout")));
  ASSERT_EQ(Run("mlc-compile --model tiny.onnx --log a.db -o tiny" + threads), 0) << Said();
  ASSERT_EQ(Run("mlc-run tiny --bench 0.2" + threads), 0) << Said();
}
INSTANTIATE_TEST_SUITE_P(Threads, ManyThreads, ::testing::Values(64, 128, 256));

using TooManyThreads = ManyThreads;

// Stacks of a gibibyte do not fit into the address space that is left.
TEST_F(TooManyThreads, AreRefusedWithWhatToDo) {
  const std::string little = "ulimit -s 1000000; ulimit -v 60000000; ";
  ASSERT_EQ(Run(little + "mlc-worker --doctor --threads 256"), 69) << Said();
  EXPECT_THAT(Said(), StartsWith("mlc-worker: give fewer threads (--threads N)"));
  EXPECT_THAT(Said(), HasSubstr("this machine does not start 256"));
  ASSERT_EQ(Run(little + "mlc-tune --model tiny.onnx --trials 12 --log a.db --threads 256"), 69)
      << Said();
  EXPECT_THAT(Said(), HasSubstr("mlc-tune: give fewer threads (--threads N)"));
  EXPECT_THAT(Said(), HasSubstr("ended with code 69, 2 times")) << "no third start is any better";
}

}  // namespace
}  // namespace mlc
