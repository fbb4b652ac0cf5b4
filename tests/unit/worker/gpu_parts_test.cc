// What of the GPU's side can be tested without one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "compiler/build/cupti_places.h"
#include "compiler/graph/tensor_io.h"
#include "tests/support/worker/await.h"
#include "worker/agent/daemon.h"
#include "worker/device/cuda/cupti.h"
#include "worker/device/cuda/expected.h"
#include "worker/device/cuda/nvml.h"
#include "worker/device/fleet/gpu_devices.h"
#include "worker/device/fleet/gpu_messages.h"
#include "worker/device/fleet/gpu_process.h"
#include "worker/doctor/gpu_doctor.h"

namespace mlc::worker {
namespace {

bool HaveGpu() { return FindGpus().ok(); }

TEST(Cupti, KernelRecordsAreDecoded) {
  std::vector<char> record(200, 0);
  const auto put = [&](size_t at, auto value) {
    std::memcpy(record.data() + at, &value, sizeof(value));
  };
  put(0, uint32_t{10});
  put(16, uint64_t{1'000'000});
  put(24, uint64_t{1'002'048});
  put(92, uint32_t{77});
  const auto kernel = DecodeActivity(record.data());
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->correlation, 77u);
  EXPECT_EQ(kernel->ns(), 2048);
  EXPECT_FALSE(kernel->lost());
  put(16, uint64_t{0});
  put(24, uint64_t{0});
  EXPECT_TRUE(DecodeActivity(record.data())->lost());
  put(0, uint32_t{1});  // a copy
  EXPECT_FALSE(DecodeActivity(record.data()).has_value());
}

TEST(Cupti, TheGivenHomeComesFirst) {
  const std::vector<std::string> places = build::CuptiCandidates("/opt/cuda");
  EXPECT_EQ(places.front(), "/opt/cuda/lib64/libcupti.so.13");
  EXPECT_EQ(places.back(), "libcupti.so");
}

TEST(Nvml, OnlyHardSlowdownsSpoilTimes) {
  EXPECT_EQ(HardSlowdown(0x1 | 0x2 | 0x4), "");
  EXPECT_EQ(AnySlowdown(0x4), "power limit");
  EXPECT_EQ(HardSlowdown(0x8 | 0x40 | 0x4), "hardware slowdown, hardware thermal slowdown");
}

mlc_cuda_device_facts H200() {
  mlc_cuda_device_facts facts = {};
  std::strcpy(facts.name, "NVIDIA H200");
  facts.compute = 90;
  facts.sms = 132;
  facts.block_bytes = 232448;
  facts.sm_bytes = 233472;
  facts.l2_bytes = 62914560;
  facts.clock_khz = 1'980'000;
  return facts;
}

TEST(GpuDevices, FactsBecomeATarget) {
  const Result<target::Target> target = TargetOf(H200());
  ASSERT_TRUE(target.ok()) << target.status().ToString();
  EXPECT_EQ(target->ClassText(),
            "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  EXPECT_NEAR(target->fma_gflops, 66908, 1);
  EXPECT_NEAR(target->gpu().tensor_gflops, 1070531, 1);
  EXPECT_EQ(target->copy_gbps, 0);
}

TEST(GpuDevices, OldDevicesAreRefused) {
  mlc_cuda_device_facts facts = H200();
  facts.compute = 75;
  const Result<target::Target> target = TargetOf(facts);
  EXPECT_EQ(target.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(target.status().message(),
            "NVIDIA H200 has compute capability 7.5: at least 8.0 is needed");
}

TEST(GpuDevices, AMachineWithoutOneSaysWhatToDo) {
  if (HaveGpu()) GTEST_SKIP() << "this machine has a GPU";
  const Status status = FindGpus().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("install the driver"), std::string::npos) << status.message();
}

TEST(GpuDoctor, SaysWhyThereIsNoGpu) {
  if (HaveGpu()) GTEST_SKIP() << "this machine has a GPU";
  const Diagnosis diagnosis = DiagnoseGpus("", "");
  EXPECT_FALSE(diagnosis.usable);
  EXPECT_NE(diagnosis.report.find("GPUs: no "), std::string::npos) << diagnosis.report;
  EXPECT_NE(diagnosis.report.find("CUDA compiler (NVRTC): "), std::string::npos);
}

TEST(GpuProcess, ARunnerThatCannotStartIsNoFaultOfTheTrial) {
  if (HaveGpu()) GTEST_SKIP() << "this machine has a GPU";
  GpuProcessOptions options;
  options.device.name = "a card";
  options.cuda_home = "/nowhere";
  GpuProcess process(std::move(options));
  const Status ready = process.AwaitReady();
  EXPECT_FALSE(ready.ok());
  process.Submit({.workload = "w", .built = {"b"}}, STDIN_FILENO);
  EXPECT_TRUE(process.busy());
  std::optional<std::vector<Measurement>> result;
  while (!result) {
    result = process.Collect();
    testing::AwaitNews(process);
  }
  EXPECT_EQ(result->front().outcome, Outcome::kInfra);
  EXPECT_EQ(result->front().detail, ready.message());
  EXPECT_FALSE(process.busy());
}

TEST(GpuMessages, TasksComeBackAsTheyWere) {
  const auto task =
      DecodeGpuTask(Encode(GpuTaskMessage{"workload", {"built", "too"}, 7, 1.5, true}));
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->workload, "workload");
  EXPECT_EQ(task->built, (std::vector<std::string>{"built", "too"}));
  EXPECT_EQ(task->set, 7u);
  EXPECT_EQ(task->early_stop_ns, 1.5);
  EXPECT_TRUE(task->may_take_more_samples);
  EXPECT_FALSE(DecodeGpuTask("short").has_value());
  const auto hello = DecodeGpuHello(Encode(GpuHello{NotFound("no CUPTI"), 0}));
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->status, NotFound("no CUPTI"));
}

// A child that ran generated code may send anything: what is made room for is no more than it sent.
TEST(Bytes, CountsAreInProportionToTheMessage) {
  ByteWriter out;
  out.Put<uint64_t>(10);
  const std::string ten = out.Take();
  const std::string eighty = ten + std::string(80, '\0');
  ByteReader enough(eighty);
  EXPECT_EQ(enough.GetCount(8), 10u);
  const std::string one_less = ten + std::string(79, '\0');
  ByteReader short_by_one(one_less);
  EXPECT_EQ(short_by_one.GetCount(8), 0u);
  EXPECT_FALSE(short_by_one.ok());
}

TEST(Bytes, AnyByteIsReadAsABool) {
  EXPECT_TRUE(ByteReader("\x02").Get<bool>());
  EXPECT_FALSE(ByteReader(std::string_view("\0", 1)).Get<bool>());
}

TEST(GpuMessages, AHelloWithAnUnknownCodeIsNone) {
  ByteWriter out;
  out.Put<int32_t>(1234);
  out.PutText("what");
  out.Put(0.0);
  EXPECT_FALSE(DecodeGpuHello(out.Take()).has_value());
}

TEST(GpuMessages, DescriptorsTravelWithTheirFrame) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const int memory = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory, 4096), 0);
  ASSERT_EQ(pwrite(memory, "data", 4, 0), 4);
  const std::string large(100'000, 'x');
  ASSERT_TRUE(SendWithDescriptor(ends[0], "without", -1));
  ASSERT_TRUE(SendWithDescriptor(ends[0], large, memory));
  ASSERT_TRUE(SendWithDescriptor(ends[0], kStopExtraSamples, -1));
  DescriptorReader reader(ends[1]);
  EXPECT_TRUE(reader.Waiting());
  std::string frame;
  int descriptor = 5;
  ASSERT_TRUE(reader.Receive(frame, descriptor));
  EXPECT_EQ(frame, "without");
  EXPECT_EQ(descriptor, -1);
  ASSERT_TRUE(reader.Receive(frame, descriptor));
  EXPECT_EQ(frame, large);
  ASSERT_GE(descriptor, 0);
  const Result<SharedMemory> mapped = SharedMemory::Map(descriptor);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(std::memcmp(mapped->bytes().data(), "data", 4), 0);
  EXPECT_TRUE(reader.Waiting()) << "the last one has arrived";
  ASSERT_TRUE(reader.Receive(frame, descriptor));
  EXPECT_EQ(frame, kStopExtraSamples);
  EXPECT_FALSE(reader.Waiting());
  close(ends[0]);
  EXPECT_TRUE(reader.Waiting()) << "the end of the stream has";
  EXPECT_FALSE(reader.Receive(frame, descriptor));
  close(ends[1]);
  close(memory);
}

TEST(Expected, AgreesWithTheThoroughComparison) {
  graph::TensorType type;
  type.dtype = DType::kF16;
  type.dims = {2, 3, 4};
  type.strides = {12, 1, 3};  // channels last
  std::vector<double> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) - 11.5;
  const auto want = graph::WriteDoubles(type.dtype, type.dims, values);
  const ExpectedOutput expected = ExpectedOutput::Make(type, want->bytes.data());
  std::vector<std::byte> got(48, std::byte{0xff});
  // Element (n, c, x) lies at 12n + 3x + c.
  for (int64_t i = 0; i < 24; ++i) {
    const int64_t at = i / 12 * 12 + i % 4 * 3 + i / 4 % 3;
    std::memcpy(got.data() + 2 * at, want->bytes.data() + 2 * i, 2);
  }
  EXPECT_TRUE(expected.Check(got.data(), 1e-4, 4).ok);
  const uint16_t one = 0x3c00;
  std::memcpy(got.data(), &one, 2);
  const Comparison wrong = expected.Check(got.data(), 1e-4, 4);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.detail, "element [0,0,0] is 1.0 instead of -11.5");
  EXPECT_NEAR(wrong.error, 12.5 / 12.5, 0.1);
}

TEST(Expected, NothingMayBeWrittenBetweenTheStrides) {
  graph::TensorType type;
  type.dims = {4};
  type.strides = {2};
  const auto want = graph::WriteDoubles(type.dtype, type.dims, std::vector<double>{1, 2, 3, 4});
  const ExpectedOutput expected = ExpectedOutput::Make(type, want->bytes.data());
  std::vector<std::byte> got(28, std::byte{0xff});
  for (size_t i = 0; i < 4; ++i) std::memcpy(got.data() + 8 * i, want->bytes.data() + 4 * i, 4);
  EXPECT_TRUE(expected.Check(got.data(), 1e-4, 1).ok);
  const float stray = 3;
  std::memcpy(got.data() + 4, &stray, 4);
  const Comparison wrong = expected.Check(got.data(), 1e-4, 1);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.detail, "written between the strides");
}

TEST(Expected, LargeOutputsAreCheckedInSlices) {
  graph::TensorType type;
  type.dims = {1 << 21};
  std::vector<std::byte> want(size_t{4} << 21);
  for (size_t i = 0; i < want.size() / 4; ++i) {
    const auto value = static_cast<float>(i % 1000);
    std::memcpy(want.data() + 4 * i, &value, 4);
  }
  const ExpectedOutput expected = ExpectedOutput::Make(type, want.data());
  std::vector<std::byte> got = want;
  EXPECT_TRUE(expected.Check(got.data(), 1e-4, 8).ok);
  const float wrong = -1;
  std::memcpy(got.data() + 4 * 2'000'001, &wrong, 4);
  EXPECT_EQ(expected.Check(got.data(), 1e-4, 8).detail, "element [2000001] is -1.0 instead of 1.0");
}

TEST(Daemon, DeviceSlotsOfSeveralTargetsHaveTheirOwnNames) {
  DeviceDescription cpu, gpu;
  cpu.kind = "CPU";
  gpu.kind = "GPU";
  const std::vector<DeviceDescription> one = {gpu};
  EXPECT_EQ(DeviceSlotName("box", one, 0), "box");
  const std::vector<DeviceDescription> all = {cpu, gpu, gpu};
  EXPECT_EQ(DeviceSlotName("box", all, 0), "box-cpu");
  EXPECT_EQ(DeviceSlotName("box", all, 1), "box-gpu");
  EXPECT_EQ(DeviceSlotName("box", all, 2), "box-gpu2");
}

}  // namespace
}  // namespace mlc::worker
