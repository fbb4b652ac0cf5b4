#include "worker/build/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process/frame.h"
#include "tests/support/db/full_record.h"
#include "worker/build/built_kernel.h"

namespace mlc::worker {
namespace {

graph::Workload Relu() {
  return *graph::Workload::Parse(
      "workload v1 tolerance=1e-04 {\n%0 = input() : f32[8]\n%1 = constant(){value=0.0} : f32[]\n"
      "%2 = max(%0, %1) : f32[8]\nreturn %2\n}\n");
}

BuiltKernel Built() {
  BuiltKernel built;
  built.object = "object";
  built.kernel = {"kernel", {{4, 2}, 64, 128}};
  built.bindings = {{schedule::Binding::Kind::kOperand, 0},
                    {schedule::Binding::Kind::kOutput, 0},
                    {schedule::Binding::Kind::kPrepared, 0}};
  built.preparations = {{{"pack", {{1}, 0, 0}}, {0}, 4096}};
  built.build_ms = 12.5;
  return built;
}

BuiltKernel BuiltForDevice() {
  BuiltKernel built = Built();
  built.kernel = {};
  built.device = DevicePart{"cubin",
                            {{"k_p0", {132, 4, 2}, {16, 8}, 65536}, {"k_p1", 1, 32, 0}},
                            1024,
                            64,
                            {{.byte_offset = 128,
                              .sizes = {256, 64, 8},
                              .pitches = {512, 32768},
                              .argument = 1,
                              .type = MLC_TENSOR_MAP_BF16,
                              .rank = 3,
                              .boxes = {64, 32, 3},
                              .steps = {1, 2},
                              .swizzle = MLC_TENSOR_MAP_SWIZZLE_128,
                              .promotion = MLC_TENSOR_MAP_PROMOTE_128}}};
  return built;
}

TEST(BuiltKernel, DeviceCodeComesBack) {
  const Result<BuiltKernel> back = Decode(Encode(BuiltForDevice()), Relu());
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  ASSERT_TRUE(back->device.has_value());
  EXPECT_EQ(back->device->image, "cubin");
  ASSERT_EQ(back->device->launches.size(), 2u);
  EXPECT_EQ(back->device->launches[0].function, "k_p0");
  EXPECT_EQ(back->device->launches[0].grid, target::Dim3(132, 4, 2));
  EXPECT_EQ(back->device->launches[0].block, target::Dim3(16, 8, 1));
  EXPECT_EQ(back->device->launches[0].block_bytes, 65536);
  EXPECT_EQ(back->device->workspace_bytes, 1024);
  EXPECT_EQ(back->device->counter_bytes, 64);
  ASSERT_EQ(back->device->tensor_maps.size(), 1u);
  const mlc_tensor_map& map = back->device->tensor_maps[0];
  EXPECT_EQ(map.argument, 1);
  EXPECT_EQ(map.type, MLC_TENSOR_MAP_BF16);
  EXPECT_EQ(map.byte_offset, 128);
  EXPECT_EQ(map.rank, 3);
  EXPECT_THAT(map.sizes, ::testing::ElementsAre(256, 64, 8, 0, 0));
  EXPECT_THAT(map.pitches, ::testing::ElementsAre(512, 32768, 0, 0));
  EXPECT_THAT(map.boxes, ::testing::ElementsAre(64, 32, 3, 0, 0));
  EXPECT_THAT(map.steps, ::testing::ElementsAre(1, 2, 0, 0));
  EXPECT_EQ(map.swizzle, MLC_TENSOR_MAP_SWIZZLE_128);
  EXPECT_EQ(map.promotion, MLC_TENSOR_MAP_PROMOTE_128);
  EXPECT_EQ(back->object, "object");
}

TEST(BuiltKernel, LaunchesThatNoDeviceCouldMakeAreRefused) {
  for (const codegen::CudaLaunch& launch :
       {codegen::CudaLaunch{"k", 0, 32, 0}, codegen::CudaLaunch{"k", 1, 2048, 0},
        codegen::CudaLaunch{"k", {1, 65536}, 32, 0}, codegen::CudaLaunch{"k", 1, {32, 33}, 0},
        codegen::CudaLaunch{"k", int64_t{1} << 40, 32, 0}, codegen::CudaLaunch{"k", 1, 32, -1}}) {
    BuiltKernel built = BuiltForDevice();
    built.device->launches = {launch};
    EXPECT_EQ(Decode(Encode(built), Relu()).status().code(), StatusCode::kDataLoss);
  }
}

TEST(BuiltKernel, MapsOfWhatIsNoArgumentAreRefused) {
  BuiltKernel built = BuiltForDevice();
  for (const int32_t argument : {-1, 5}) {
    built.device->tensor_maps[0].argument = argument;
    EXPECT_EQ(Decode(Encode(built), Relu()).status().code(), StatusCode::kDataLoss);
  }
  built.device->tensor_maps[0].argument = 4;  // counters, behind three bindings and scratch
  EXPECT_TRUE(Decode(Encode(built), Relu()).ok());
}

TEST(BuiltKernel, MapsOfMoreDimensionsThanThereAreAreRefused) {
  BuiltKernel built = BuiltForDevice();
  for (const int32_t rank : {1, 6}) {
    built.device->tensor_maps[0].rank = rank;
    EXPECT_EQ(Decode(Encode(built), Relu()).status().code(), StatusCode::kDataLoss);
  }
}

TEST(Messages, TrialsAndMeasurementsComeBack) {
  Measurement measurement;
  measurement.outcome = Outcome::kWrongResult;
  tests::FillEmptyFields(measurement);
  ByteWriter out;
  Put(out, Trial{{1, 2}, "workload", "config", 9, 1.5, 2});
  Put(out, measurement);
  const std::string bytes = out.Take();
  ByteReader in(bytes);
  const Trial trial = GetTrial(in);
  EXPECT_EQ(trial.config, "config");
  EXPECT_EQ(trial.early_stop_ns, 1.5);
  EXPECT_EQ(trial.target, 2);
  const Measurement back = GetMeasurement(in);
  EXPECT_EQ(tests::TextsOf(back), tests::TextsOf(measurement));
  EXPECT_TRUE(in.AtEnd());
}

TEST(Messages, GarbageIsNeverAnOutcomeOfTheCandidate) {
  ByteReader in("\x03garbage");
  EXPECT_EQ(GetMeasurement(in).outcome, Outcome::kInfra);
  EXPECT_FALSE(in.ok());
}

TEST(Messages, EveryCutKernelIsRefused) {
  const std::string bytes = Encode(Built());
  const Result<BuiltKernel> whole = Decode(bytes, Relu());
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EXPECT_EQ(whole->kernel.layout.phase_extents, (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(whole->preparations[0].bytes, 4096);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Decode(bytes.substr(0, size), Relu()).status().code(), StatusCode::kDataLoss) << size;
  }
}

TEST(Messages, BindingsMustFitTheWorkload) {
  BuiltKernel built = Built();
  built.bindings[0].index = 5;
  EXPECT_EQ(Decode(Encode(built), Relu()).status().code(), StatusCode::kDataLoss);
}

TEST(Messages, FramesComeOutWhole) {
  std::string stream = Frame("one") + Frame("") + Frame("three").substr(0, 5);
  EXPECT_EQ(TakeFrame(stream), "one");
  EXPECT_EQ(TakeFrame(stream), "");
  EXPECT_EQ(TakeFrame(stream), std::nullopt);
  stream += "hree";
  EXPECT_EQ(TakeFrame(stream), "three");
}

}  // namespace
}  // namespace mlc::worker
