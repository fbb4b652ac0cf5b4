// What `--target auto` means; and, beside a driver that pretends, what this machine is said to
// offer.
#include "client/target/auto_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace mlc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTwo[] =
    "target v1 cpu arch=x86_64 isa=avx512 threads=2 l1=49152 l2=2097152 l3=33554432";
constexpr char kEight[] =
    "target v1 cpu arch=x86_64 isa=avx2 threads=8 l1=32768 l2=524288 l3=33554432";
constexpr char kGpu[] = "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560";
constexpr char kOther[] = "target v1 cuda arch=sm_80 sms=108 block=166912 sm=167936 l2=41943040";

target::Target Of(const std::string& text) {
  Result<target::Target> target = target::Target::Parse(text);
  EXPECT_TRUE(target.ok()) << target.status().message();
  return target.ok() ? *target : target::Target();
}

Machine WithGpu() { return {Of(kTwo), Of(kGpu), "NVIDIA H100", "13.0", "", "/lib/libcupti.so"}; }
Machine WithoutGpu() {
  return {Of(kTwo), Unavailable("no NVIDIA driver: libcuda.so.1 cannot be opened; install it"),
          "",       "",
          "",       ""};
}

TEST(AutoTarget, IsTheGpuThatCanBeTunedFor) {
  EXPECT_EQ(ChooseForMachine(WithGpu(), Work::kTune).Line(),
            "target: cuda (NVIDIA H100, NVRTC 13.0, CUPTI found)");
  EXPECT_EQ(ChooseForMachine(WithGpu(), Work::kTune).target, Of(kGpu));
  EXPECT_EQ(ChooseForMachine(WithGpu(), Work::kCompile).Line(),
            "target: cuda (NVIDIA H100, NVRTC 13.0)");
}

TEST(AutoTarget, IsTheCpuWithTheReason) {
  const AutoTarget none = ChooseForMachine(WithoutGpu(), Work::kTune);
  EXPECT_EQ(none.Line(), "target: cpu (no NVIDIA driver: libcuda.so.1 cannot be opened)");
  EXPECT_EQ(none.target, Of(kTwo));
  Machine machine = WithGpu();
  machine.cupti = "";
  EXPECT_EQ(ChooseForMachine(machine, Work::kTune).Line(),
            "target: cpu (NVIDIA H100 is there, but CUPTI, which times kernels, was not found: "
            "install the CUDA toolkit's or the Python wheel nvidia-cuda-cupti and give "
            "--cuda-home)");
  EXPECT_EQ(ChooseForMachine(machine, Work::kCompile).text, "cuda") << "compiling times nothing";
  machine.nvrtc = "";
  machine.nvrtc_failure = "no CUDA compiler: looked in two places; install one";
  EXPECT_EQ(ChooseForMachine(machine, Work::kCompile).Line(),
            "target: cpu (NVIDIA H100 is there, but no CUDA compiler: looked in two places)");
}

TEST(AutoTarget, OfRecordsIsWhatTheyAreOf) {
  const auto line = [](const std::vector<std::string>& texts, const Machine& machine,
                       int threads = 0) {
    return ChooseAmongRecords(texts, machine, threads, "the log").Line();
  };
  EXPECT_EQ(line({kGpu, kTwo}, WithGpu()),
            "target: cuda (the log has records of this machine's GPU, NVIDIA H100)");
  EXPECT_EQ(line({kOther, kTwo}, WithGpu()),
            "target: cpu (the log has records of this machine's CPU)");
  EXPECT_EQ(line({kGpu, kTwo}, WithoutGpu()),
            "target: cpu (the log has records of this machine's CPU)");
  EXPECT_EQ(line({kOther}, WithoutGpu()),
            "target: " + Of(kOther).ClassText() + " (the log has records of this class alone)");
  EXPECT_EQ(line({kGpu, kEight}, WithoutGpu(), 4),
            "target: " + Of(kGpu).ClassText() + " (the log has records of this class alone)");
  EXPECT_EQ(line({kOther, kEight, "target v9 tpu"}, WithoutGpu()),
            "target: cpu (no NVIDIA driver: libcuda.so.1 cannot be opened; the log has records of "
            "2 other classes)");
  EXPECT_EQ(line({}, WithGpu()), "target: cuda (NVIDIA H100, NVRTC 13.0; the log has no records)");
}

TEST(AutoTarget, OfAServerIsWhatItsWorkersAre) {
  const auto line = [](const std::vector<std::string>& texts, const Machine& machine) {
    const Result<AutoTarget> chosen = ChooseAmongWorkers(texts, machine, 0);
    return chosen.ok() ? chosen->Line() : chosen.status().message();
  };
  EXPECT_EQ(line({kOther, kTwo}, WithoutGpu()),
            "target: " + Of(kOther).ClassText() + " (the server's only class of GPUs)");
  EXPECT_EQ(line({kOther, kGpu}, WithGpu()),
            "target: cuda (the server has workers like this machine's GPU, NVIDIA H100)");
  EXPECT_EQ(line({kEight, kTwo}, WithGpu()),
            "target: cpu (the server has workers like this machine's CPU)");
  EXPECT_EQ(line({kEight}, WithGpu()),
            "target: " + Of(kEight).ClassText() + " (the server's only class of CPUs)");
  EXPECT_THAT(line({kOther, kGpu, kTwo}, WithoutGpu()),
              AllOf(HasSubstr("the server has workers of several classes: give one of"),
                    HasSubstr("--target '" + Of(kGpu).ClassText() + "'"),
                    HasSubstr("--target '" + Of(kOther).ClassText() + "'")));
  EXPECT_EQ(line({}, WithoutGpu()),
            "target: cpu (no NVIDIA driver: libcuda.so.1 cannot be opened; the server has no such "
            "workers at present)");
}

TEST(AutoTarget, TheMachineIsAskedInAChild) {
  setenv("FAKE_GPUS", "1", 1);
  const Machine machine = LookAtMachine(2, "");
  ASSERT_TRUE(machine.gpu.ok()) << machine.gpu.status().message();
  EXPECT_EQ(machine.gpu_name, "Fake GPU 0");
  EXPECT_EQ(machine.gpu->gpu().CudaArch(), "sm_90a");
  EXPECT_THAT(machine.cupti, HasSubstr("libcupti.so"));
  EXPECT_NE(machine.nvrtc.empty(), machine.nvrtc_failure.empty());
  EXPECT_EQ(machine.cpu.cpu().threads, 2);
  setenv("FAKE_GPUS", "0", 1);
  EXPECT_EQ(ChooseForMachine(LookAtMachine(2, ""), Work::kTune).Line(),
            "target: cpu (no CUDA device: the driver sees none)");
}

}  // namespace
}  // namespace mlc::client
