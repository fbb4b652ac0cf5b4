// The runtime of libraries for GPUs, against a driver that runs on the host: what is loaded,
// uploaded, captured and launched, in which order and with which arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/runtime/device_api.h"
#include "compiler/runtime/device_state.h"
#include "compiler/runtime/image.h"
#include "tests/temporary_folder.h"
#include "tests/unit/runtime/fake_cuda/fake_cuda.h"
#include "tests/unit/runtime/packed_kernels.h"

namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kBytes = 4 * sizeof(float);

// y = 2 * (x + w) + 1 in three steps; z = x + w is an output too. The last kernel has a counter.
class Model {
 public:
  Model() {
    launches_[0] = {"k0_add", {1, 1, 1}, {32, 1, 1}, 0, 1};
    launches_[1] = {"k1_scale", {2, 1, 1}, {64, 1, 1}, 100 * 1024, 1};
    launches_[2] = {"k2_count", {3, 2, 4}, {8, 4, 3}, 0, 0};
    kernels_[0] = {
        binaries_.Add("FAKE k0_add"), texts_.Add("FAKETEXT k0_add"), &launches_[0], 1, nullptr, 0};
    kernels_[1] = {binaries_.Add("FAKE k1_scale"),
                   texts_.Add("FAKETEXT k1_scale"),
                   &launches_[1],
                   1,
                   nullptr,
                   0};
    kernels_[2] = {binaries_.Add("FAKE k2_count"),
                   texts_.Add("FAKETEXT k2_count"),
                   &launches_[2],
                   1,
                   nullptr,
                   0};
    add_ = {{{MLC_AT_INPUT, 0, 0}, {MLC_AT_WEIGHTS, 0, 64}, {MLC_AT_OUTPUT, 1, 0}}};
    scale_ = {{{MLC_AT_OUTPUT, 1, 0}, {MLC_AT_ARENA, 0, 64}}};
    count_ = {{{MLC_AT_ARENA, 0, 64}, {MLC_AT_OUTPUT, 0, 0}}};
    steps_[0] = {nullptr, add_.data(), "add", 0, 0, 0, 3, {-1, -1}, {-1, -1}, nullptr, nullptr};
    steps_[1] = {nullptr, scale_.data(), "scale",  256,     0,      0,
                 2,       {-1, -1},      {-1, -1}, nullptr, nullptr};
    steps_[2] = {nullptr, count_.data(), "count", 0, 0, 0, 2, {-1, -1}, {-1, -1}, nullptr, nullptr};
    for (size_t i = 0; i < 4; ++i) weights_[16 + i] = static_cast<float>(i);
    for (size_t i = 0; i < 4; ++i) weights_[32 + i] = static_cast<float>(i);
    ports_ = {{{"x", &dim_, kBytes, 1, MLC_F32},
               {"y", &dim_, kBytes, 1, MLC_F32},
               {"z", &dim_, kBytes, 1, MLC_F32}}};
    mlc_image& base = image_.base;
    base.inputs = &ports_[0];
    base.outputs = &ports_[1];
    base.steps = steps_.data();
    base.weights = weights_.data();
    base.weights_bytes = sizeof(weights_);
    base.arena_bytes = 128;
    base.workspace_bytes = 256;
    base.input_count = 1;
    base.output_count = 2;
    base.step_count = 3;
    base.operand_count = 7 + 2 * 3;
    image_.kernels = kernels_.data();
    image_.binaries = binaries_.Pack();
    image_.texts = texts_.Pack();
    image_.step_kernels = step_kernels_.data();
    image_.counter_bytes = 4;
    image_.kernel_count = 3;
    image_.compute = 90;
    image_.arch_specific = 1;
    image_.portable_compute = 90;
    image_.upload_bytes = 128;
    table_.image = &image_.base;
  }

  // Tables of their own for newer devices: the first two kernels are others, which read other
  // weights and need more scratch.
  void AddNewer() {
    newer_launches_[0] = {"n0_add", {4, 1, 1}, {32, 1, 1}, 0, 1};
    newer_launches_[1] = {"n1_scale", {8, 1, 1}, {64, 1, 1}, 0, 1};
    newer_kernels_[0] = {-1, newer_texts_.Add("FAKETEXT n0_add"), &newer_launches_[0], 1, nullptr,
                         0};
    newer_kernels_[1] = {-1, newer_texts_.Add("FAKETEXT n1_scale"), &newer_launches_[1], 1, nullptr,
                         0};
    newer_kernels_[2] = {-1, newer_texts_.Add("FAKETEXT k2_count"), &launches_[2], 1, nullptr, 0};
    newer_add_ = {{{MLC_AT_INPUT, 0, 0}, {MLC_AT_WEIGHTS, 0, 128}, {MLC_AT_OUTPUT, 1, 0}}};
    newer_steps_ = steps_;
    newer_steps_[0].operands = newer_add_.data();
    newer_steps_[1].workspace_bytes = 512;
    newer_ = image_;
    newer_.base.steps = newer_steps_.data();
    newer_.base.workspace_bytes = 512;
    newer_.kernels = newer_kernels_.data();
    newer_.upload_bytes = sizeof(weights_);
    image_.newer = &newer_;
    for (mlc_device_kernel& kernel : kernels_) kernel.portable = -1;
    image_.texts = newer_.binaries = {};
    newer_.texts = newer_texts_.Pack();
  }

  // The second kernel fetches what it scaled, z, through a map.
  void AddMap() {
    map_.type = MLC_TENSOR_MAP_F32;
    map_.rank = 3;
    std::copy_n(std::array<int64_t, 3>{4, 1, 2}.begin(), 3, map_.sizes);
    std::copy_n(std::array<int64_t, 2>{16, 32}.begin(), 2, map_.pitches);
    std::copy_n(std::array<int32_t, 3>{32, 8, 3}.begin(), 3, map_.boxes);
    std::copy_n(std::array<int32_t, 2>{1, 2}.begin(), 2, map_.steps);
    map_.swizzle = MLC_TENSOR_MAP_SWIZZLE_128;
    map_.promotion = MLC_TENSOR_MAP_NO_PROMOTION;
    launches_[1].function = "k1_fetch";
    kernels_[1].binary = binaries_.Add("FAKE k1_fetch");
    image_.binaries = binaries_.Pack();
    kernels_[1].maps = &map_;
    kernels_[1].map_count = 1;
  }

  const mlc_model_api* api() const { return &table_.api; }
  mlc_device_image& image() { return image_; }
  PackedKernels& binaries() { return binaries_; }
  PackedKernels& texts() { return texts_; }
  const void* weights() const { return weights_.data(); }
  size_t weights_bytes() const { return sizeof(weights_); }

 private:
  const int64_t dim_ = 4;
  PackedKernels binaries_, texts_, newer_texts_;
  std::array<mlc_device_launch, 3> launches_ = {};
  std::array<mlc_device_kernel, 3> kernels_ = {};
  mlc_tensor_map map_ = {};
  std::array<mlc_operand, 3> add_ = {};
  std::array<mlc_operand, 2> scale_ = {}, count_ = {};
  std::array<mlc_step, 3> steps_ = {};
  std::array<mlc_port, 3> ports_ = {};
  std::array<int32_t, 3> step_kernels_ = {0, 1, 2};
  std::array<float, 48> weights_ = {};
  std::array<mlc_device_launch, 2> newer_launches_ = {};
  std::array<mlc_device_kernel, 3> newer_kernels_ = {};
  std::array<mlc_operand, 3> newer_add_ = {};
  std::array<mlc_step, 3> newer_steps_ = {};
  mlc_device_image image_ = {}, newer_ = {};
  mlc_table table_ = {};
};

struct Buffers {
  alignas(64) std::array<float, 4> x = {1, 2, 3, 4};
  alignas(64) std::array<float, 4> y = {}, z = {};
  std::array<const void*, 1> inputs() const { return {x.data()}; }
  std::array<void*, 2> outputs() { return {y.data(), z.data()}; }
};

const std::array<float, 4> kY = {3, 7, 11, 15};  // 2 * (x + w) + 1
const std::array<float, 4> kZ = {1, 3, 5, 7};    // x + w

class Device : public testing::Test {
 protected:
  void SetUp() override {
    fake_cuda_reset();
    held_ = fake_cuda_held();
  }
  void TearDown() override {
    if (session_ != nullptr) mlc_device_destroy_session(session_);
    if (opened_ != nullptr) mlc_device_close(opened_);
    EXPECT_EQ(fake_cuda_held(), held_) << "everything is given back";
  }

  mlc_status Open(int device = 0, const char* weights = nullptr) {
    error_[0] = '\0';
    const mlc_open_options options = {weights, device, error_, sizeof(error_)};
    return mlc_device_open_with(model_.api(), &options, &opened_);
  }
  void OpenWithSession() {
    ASSERT_EQ(Open(), MLC_OK) << error_;
    ASSERT_EQ(mlc_device_create_session(opened_, nullptr, &session_), MLC_OK);
  }
  mlc_status Run(Buffers& buffers) {
    return mlc_device_run(session_, buffers.inputs().data(), buffers.outputs().data());
  }
  mlc_status RunDevice(Buffers& buffers, void* stream = nullptr) {
    return mlc_device_run_device(session_, stream, buffers.inputs().data(),
                                 buffers.outputs().data());
  }
  static int Count(const std::string& note) {
    const std::string notes = fake_cuda_notes();
    int count = 0;
    for (size_t at = notes.find(note); at != std::string::npos; at = notes.find(note, at + 1)) {
      ++count;
    }
    return count;
  }

  Model model_;
  mlc_model* opened_ = nullptr;
  mlc_session* session_ = nullptr;
  char error_[512] = {};
  long held_ = 0;
};

TEST_F(Device, LoadsCodeAndUploadsWeightsOnce) {
  ASSERT_EQ(Open(), MLC_OK) << error_;
  EXPECT_EQ(mlc_device_device(opened_), 0);
  EXPECT_STREQ(fake_cuda_notes(),
               "load binary\nload binary\nattribute k1_scale 8=102400\nload binary\nhtod 128\n");
  EXPECT_EQ(mlc_device_session_bytes(opened_, 0), 6 * 256);
}

TEST_F(Device, RunsTheStepsInOrderFromHostBuffers) {
  OpenWithSession();
  Buffers buffers;
  for (int run = 0; run < 3; ++run) {
    buffers.y.fill(-1);
    ASSERT_EQ(Run(buffers), MLC_OK);
    EXPECT_EQ(buffers.y, kY);
    EXPECT_EQ(buffers.z, kZ);
  }
  const std::string notes = fake_cuda_notes();
  // The first launch follows no kernel; the last does not wait by itself.
  EXPECT_THAT(notes, HasSubstr("htod 16\ngraph_launch 3\n"
                               "launch k0_add blocks=1 threads=32 bytes=0 programmatic=0\n"
                               "launch k1_scale blocks=2 threads=64 bytes=102400 programmatic=1\n"
                               "launch k2_count blocks=3,2,4 threads=8,4,3 bytes=0 programmatic=0\n"
                               "dtoh 16\ndtoh 16\n"));
  EXPECT_THAT(notes, HasSubstr("instantiate 3\n"));
  EXPECT_THAT(notes, Not(HasSubstr("update")));
}

TEST_F(Device, RunsWithTheCallersMemoryAndStream) {
  OpenWithSession();
  Buffers first, second;
  ASSERT_EQ(RunDevice(first), MLC_OK);
  EXPECT_EQ(first.y, kY);
  EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("graph_launch"))) << "addresses may come once only";
  second.x = {0, 0, 0, 0};
  ASSERT_EQ(RunDevice(second), MLC_OK);
  EXPECT_EQ(second.z, (std::array<float, 4>{0, 1, 2, 3}));
  EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("htod 16")));
  EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("wait")));
  ASSERT_EQ(Run(first), MLC_OK);
  EXPECT_THAT(fake_cuda_notes(), HasSubstr("wait\n")) << "another stream waits for the last run";
}

TEST_F(Device, AddressesThatComeAgainHaveAGraph) {
  OpenWithSession();
  std::array<Buffers, 2> buffers;
  for (Buffers& one : buffers) ASSERT_EQ(RunDevice(one), MLC_OK);
  fake_cuda_reset();
  for (Buffers& one : buffers) {
    one.y = {};
    ASSERT_EQ(RunDevice(one), MLC_OK);
    EXPECT_EQ(one.y, kY);
  }
  EXPECT_EQ(Count("instantiate 3\n"), 2);
  for (int i = 0; i < 6; ++i) {
    Buffers& one = buffers[static_cast<size_t>(i) % 2];
    one.y = {};
    ASSERT_EQ(RunDevice(one), MLC_OK);
    EXPECT_EQ(one.y, kY);
  }
  EXPECT_EQ(Count("instantiate 3\n"), 2) << "an allocator that takes turns costs no new graphs";
  EXPECT_EQ(Count("graph_launch 3\n"), 8);
}

TEST_F(Device, TheOldestAddressesAreForgotten) {
  OpenWithSession();
  std::array<Buffers, MLC_DEVICE_CALLERS + 1> buffers;
  for (int round = 0; round < 2; ++round) {
    for (Buffers& one : buffers) {
      one.y = {};
      ASSERT_EQ(RunDevice(one), MLC_OK);
      EXPECT_EQ(one.y, kY);
    }
  }
  EXPECT_EQ(Count("graph_launch 3\n"), 0);
  ASSERT_EQ(RunDevice(buffers.back()), MLC_OK);
  EXPECT_EQ(Count("graph_launch 3\n"), 1);
  // Another set takes over the graph with its place.
  for (size_t i = 0; i < MLC_DEVICE_CALLERS; ++i) ASSERT_EQ(RunDevice(buffers[i]), MLC_OK);
  buffers[0].y = {};
  ASSERT_EQ(RunDevice(buffers[0]), MLC_OK);
  EXPECT_EQ(buffers[0].y, kY);
}

TEST_F(Device, KernelsTakeMapsOfWhatLiesAtTheirArguments) {
  model_.AddMap();
  OpenWithSession();
  const std::array<float, 4> fetched = {2, 4, 6, 8};  // x + w + 1
  const std::string note =
      "map type=7 swizzle=3 promotion=0 32 of 4 by 8 of 1 at 16*1 by 3 of 2 at 32*2\n";
  EXPECT_EQ(Count(note), 1) << "the session's own buffers";
  Buffers host;
  for (int run = 0; run < 2; ++run) {
    host.y = {};
    ASSERT_EQ(Run(host), MLC_OK);
    EXPECT_EQ(host.y, fetched);
  }
  EXPECT_EQ(Count(note), 1) << "what has not moved keeps its map";
  std::array<Buffers, 2> buffers;
  for (int round = 0; round < 3; ++round) {
    for (Buffers& one : buffers) {
      one.y = {};
      ASSERT_EQ(RunDevice(one), MLC_OK);
      EXPECT_EQ(one.y, fetched);
    }
  }
  EXPECT_EQ(Count(note), 5) << "two each: launched one by one, and captured";
  std::array<double, 3> steps = {};
  host.y = {};
  ASSERT_EQ(
      mlc_device_run_profiled(session_, host.inputs().data(), host.outputs().data(), steps.data()),
      MLC_OK);
  EXPECT_EQ(host.y, fetched);
}

TEST_F(Device, AMapThatTheDriverRefusesIsAnError) {
  model_.AddMap();
  OpenWithSession();
  fake_cuda_fail("cuTensorMapEncodeTiled", 1, 1);
  Buffers buffers;
  EXPECT_EQ(RunDevice(buffers), MLC_DEVICE_FAILED);
  ASSERT_EQ(RunDevice(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, (std::array<float, 4>{2, 4, 6, 8}));
}

TEST_F(Device, MakesANewGraphWhereTheOldOneCannotBeUpdated) {
  OpenWithSession();
  std::array<Buffers, MLC_DEVICE_CALLERS + 1> buffers;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(RunDevice(buffers[0]), MLC_OK);
  for (size_t i = 1; i < buffers.size(); ++i) ASSERT_EQ(RunDevice(buffers[i]), MLC_OK);
  fake_cuda_fail("cuGraphExecUpdate", 1, 910);
  Buffers& last = buffers.back();  // in the place of the first, which has a graph
  last.y = {};
  ASSERT_EQ(RunDevice(last), MLC_OK);
  EXPECT_EQ(last.y, kY);
}

TEST_F(Device, ARunMayBePartOfTheCallersGraph) {
  OpenWithSession();
  Buffers buffers;
  ASSERT_EQ(RunDevice(buffers), MLC_OK);
  mlc_cuda cuda;
  ASSERT_EQ(mlc_cuda_open(&cuda, error_, sizeof(error_)), 0) << error_;
  mlc_cu_stream stream = nullptr;
  ASSERT_EQ(cuda.stream_create(&stream, MLC_CUDA_STREAM_NON_BLOCKING), 0);
  fake_cuda_reset();
  ASSERT_EQ(cuda.stream_begin_capture(stream, MLC_CUDA_CAPTURE_RELAXED), 0);
  buffers.y = {};
  ASSERT_EQ(RunDevice(buffers, stream), MLC_OK);
  mlc_cu_graph graph = nullptr;
  ASSERT_EQ(cuda.stream_end_capture(stream, &graph), 0);
  EXPECT_EQ(fake_cuda_notes(), std::string()) << "no event of the session, and nothing has run";
  mlc_cu_graph_exec exec = nullptr;
  ASSERT_EQ(cuda.graph_instantiate(&exec, graph, 0), 0);
  buffers.x = {2, 2, 2, 2};
  ASSERT_EQ(cuda.graph_launch(exec, stream), 0);
  EXPECT_EQ(buffers.z, (std::array<float, 4>{2, 3, 4, 5}));
  cuda.graph_exec_destroy(exec);
  cuda.graph_destroy(graph);
  cuda.stream_destroy(stream);
}

TEST_F(Device, RefusesBuffersThatItCannotUse) {
  OpenWithSession();
  Buffers buffers;
  const std::array<const void*, 1> shifted = {buffers.x.data() + 1};
  EXPECT_EQ(mlc_device_run_device(session_, nullptr, shifted.data(), buffers.outputs().data()),
            MLC_INVALID_ARGUMENT);
  EXPECT_THAT(mlc_device_session_error(session_), HasSubstr("aligned to 16 bytes"));
  EXPECT_EQ(mlc_device_run(session_, nullptr, buffers.outputs().data()), MLC_INVALID_ARGUMENT);
  std::array<void*, 2> missing = {buffers.y.data(), nullptr};
  EXPECT_EQ(mlc_device_run(session_, buffers.inputs().data(), missing.data()),
            MLC_INVALID_ARGUMENT);
  EXPECT_THAT(mlc_device_session_error(session_), HasSubstr("null pointer"));
  EXPECT_EQ(mlc_device_run(nullptr, nullptr, nullptr), MLC_INVALID_ARGUMENT);
}

TEST_F(Device, TimesRunsAndSteps) {
  OpenWithSession();
  Buffers buffers;
  std::vector<double> times(100);
  ASSERT_EQ(mlc_device_run_timed(session_, buffers.inputs().data(), buffers.outputs().data(), 100,
                                 times.data()),
            MLC_OK);
  EXPECT_EQ(buffers.y, kY);
  // Each launch takes a microsecond of the stand-in's clock.
  for (const double time : times) EXPECT_NEAR(time, 3000, 1);
  std::array<double, 3> steps = {};
  buffers.y.fill(-1);
  ASSERT_EQ(mlc_device_run_profiled(session_, buffers.inputs().data(), buffers.outputs().data(),
                                    steps.data()),
            MLC_OK);
  EXPECT_EQ(buffers.y, kY);
  for (const double time : steps) EXPECT_NEAR(time, 1000, 1);
}

TEST_F(Device, SessionsAreIndependent) {
  OpenWithSession();
  mlc_session* other = nullptr;
  ASSERT_EQ(mlc_device_create_session(opened_, nullptr, &other), MLC_OK);
  Buffers a, b;
  b.x = {5, 5, 5, 5};
  ASSERT_EQ(Run(a), MLC_OK);
  ASSERT_EQ(mlc_device_run(other, b.inputs().data(), b.outputs().data()), MLC_OK);
  EXPECT_EQ(a.y, kY);
  EXPECT_EQ(b.z, (std::array<float, 4>{5, 6, 7, 8}));
  mlc_device_destroy_session(other);
}

TEST_F(Device, WeightsMayLieInAFile) {
  const mlc::tests::TemporaryFolder folder;
  const std::string path = folder.path("device_test.weights");
  std::vector<char> bytes(model_.weights_bytes());
  std::memcpy(bytes.data(), model_.weights(), bytes.size());
  FILE* file = fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  fwrite(bytes.data(), 1, bytes.size(), file);
  fclose(file);
  model_.image().base.weights = nullptr;
  std::memcpy(&model_.image().base.weights_check, bytes.data(), sizeof(uint64_t));
  EXPECT_EQ(Open(), MLC_NOT_FOUND);
  EXPECT_THAT(error_, HasSubstr("weights file"));
  ASSERT_EQ(Open(0, path.c_str()), MLC_OK) << error_;
  ASSERT_EQ(mlc_device_create_session(opened_, nullptr, &session_), MLC_OK);
  Buffers buffers;
  ASSERT_EQ(Run(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, kY);
}

TEST_F(Device, SaysWhatIsMissing) {
  fake_cuda_device(90, 0, 13000);
  EXPECT_EQ(Open(), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error_, HasSubstr("no CUDA device"));
  fake_cuda_device(90, 1, 11080);
  EXPECT_EQ(Open(), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error_, HasSubstr("too old"));
  fake_cuda_device(80, 1, 13000);
  EXPECT_EQ(Open(), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error_, HasSubstr("needs a GPU of compute capability 9.0 exactly, or 9.0 and newer; "
                                "GPU 0 is Fake GPU 0 of 8.0: compile the model for it"));
  fake_cuda_device(90, 1, 13000);
  EXPECT_EQ(Open(3), MLC_INVALID_ARGUMENT);
  EXPECT_THAT(error_, HasSubstr("there is no GPU 3; the driver shows 1"));
  EXPECT_EQ(mlc_device_open(model_.api(), nullptr, nullptr), MLC_INVALID_ARGUMENT);
}

TEST_F(Device, NewerDevicesGetThePortableCode) {
  fake_cuda_device(100, 1, 13000);
  OpenWithSession();
  EXPECT_THAT(fake_cuda_notes(), HasSubstr("load text\n"));
  EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("load binary")));
  Buffers buffers;
  ASSERT_EQ(Run(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, kY);
}

TEST_F(Device, NewerDevicesMayHaveTablesOfTheirOwn) {
  model_.AddNewer();
  fake_cuda_device(100, 1, 13000);
  OpenWithSession();
  EXPECT_STREQ(fake_cuda_notes(), "load text\nload text\nload text\nhtod 192\ninstantiate 3\n");
  EXPECT_EQ(mlc_device_session_bytes(opened_, 0), 7 * 256);
  Buffers buffers;
  ASSERT_EQ(Run(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, kY);
  EXPECT_EQ(buffers.z, kZ);
  EXPECT_THAT(fake_cuda_notes(),
              HasSubstr("launch n0_add blocks=4 threads=32 bytes=0 programmatic=0\n"
                        "launch n1_scale blocks=8 threads=64 bytes=0 programmatic=1\n"
                        "launch k2_count blocks=3,2,4 threads=8,4,3 bytes=0 programmatic=0\n"));
  std::array<double, 3> steps = {};
  ASSERT_EQ(mlc_device_run_profiled(session_, buffers.inputs().data(), buffers.outputs().data(),
                                    steps.data()),
            MLC_OK);
  EXPECT_EQ(buffers.y, kY);
}

TEST_F(Device, TheTargetRunsItsBinariesBesideTablesForNewerDevices) {
  model_.AddNewer();
  OpenWithSession();
  EXPECT_THAT(fake_cuda_notes(), Not(HasSubstr("load text")));
  EXPECT_THAT(fake_cuda_notes(), HasSubstr("htod 128\n"));
  Buffers buffers;
  ASSERT_EQ(Run(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, kY);
  EXPECT_THAT(fake_cuda_notes(), HasSubstr("launch k1_scale"));
}

TEST_F(Device, ADeviceWithLittleOnChipMemoryRunsWhatNewerDevicesRun) {
  model_.image().compute = model_.image().portable_compute = 80;
  model_.image().arch_specific = 0;
  fake_cuda_device(89, 1, 13000);
  EXPECT_EQ(Open(), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error_, HasSubstr("needs 102400 bytes of on-chip memory a block"));
  model_.AddNewer();
  OpenWithSession();
  Buffers buffers;
  ASSERT_EQ(Run(buffers), MLC_OK);
  EXPECT_EQ(buffers.y, kY);
  EXPECT_THAT(fake_cuda_notes(), HasSubstr("launch n1_scale"));
}

TEST_F(Device, DamagedCodeIsRefusedWhereItIsRead) {
  model_.binaries().frame()[20] ^= 4;
  EXPECT_EQ(Open(), MLC_BAD_WEIGHTS);
  EXPECT_STREQ(error_, "the GPU code in the library is damaged: copy or compile the library again");
  fake_cuda_device(100, 1, 13000);
  EXPECT_EQ(Open(), MLC_OK) << "texts alone are read: " << error_;
  mlc_device_close(opened_);
  model_.texts().frame()[20] ^= 4;
  opened_ = nullptr;
  EXPECT_EQ(Open(), MLC_BAD_WEIGHTS);
}

TEST_F(Device, CodeForOneArchitectureAloneIsRefusedElsewhere) {
  model_.image().portable_compute = 0;
  fake_cuda_device(100, 1, 13000);
  EXPECT_EQ(Open(), MLC_UNSUPPORTED_MACHINE);
  EXPECT_THAT(error_, HasSubstr("9.0 exactly; GPU 0"));
  model_.image().arch_specific = 0;
  model_.image().compute = 80;
  fake_cuda_device(87, 1, 13000);
  EXPECT_EQ(Open(), MLC_OK) << "binaries run on later devices of the same generation";
}

TEST_F(Device, FailuresOfTheDriverGiveEverythingBack) {
  struct Failure {
    const char* call;
    int n;
    int result;
    mlc_status status;
    const char* words;
  };
  for (const Failure& failure :
       {Failure{"cuLibraryLoadData", 2, 209, MLC_UNSUPPORTED_MACHINE, "serves CUDA 13.0"},
        Failure{"cuLibraryLoadData", 1, 222, MLC_UNSUPPORTED_MACHINE, "install a newer one"},
        Failure{"cuMemAlloc", 1, 2, MLC_OUT_OF_MEMORY, "no memory to hold the weights"},
        Failure{"cuMemcpyHtoDAsync", 1, 700, MLC_DEVICE_FAILED, "CUDA_ERROR_ILLEGAL_ADDRESS"}}) {
    fake_cuda_fail(failure.call, failure.n, failure.result);
    EXPECT_EQ(Open(), failure.status) << failure.call;
    EXPECT_THAT(error_, HasSubstr(failure.words));
  }
  ASSERT_EQ(Open(), MLC_OK);
  for (const Failure& failure :
       {Failure{"cuMemAlloc", 1, 2, MLC_OUT_OF_MEMORY, ""},
        Failure{"cuMemAllocHost", 1, 2, MLC_OUT_OF_MEMORY, ""},
        Failure{"cuLaunchKernelEx", 2, 1, MLC_DEVICE_FAILED, ""},
        Failure{"cuGraphInstantiateWithFlags", 1, 1, MLC_DEVICE_FAILED, ""}}) {
    fake_cuda_fail(failure.call, failure.n, failure.result);
    EXPECT_EQ(mlc_device_create_session(opened_, nullptr, &session_), failure.status)
        << failure.call;
    EXPECT_EQ(session_, nullptr);
  }
}

TEST_F(Device, FailedRunsAreExplained) {
  OpenWithSession();
  EXPECT_STREQ(mlc_device_session_error(session_), "");
  Buffers buffers;
  fake_cuda_fail("cuStreamSynchronize", 1, 700);
  EXPECT_EQ(Run(buffers), MLC_DEVICE_FAILED);
  EXPECT_THAT(mlc_device_session_error(session_),
              HasSubstr("cannot run the model: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory"));
}

}  // namespace
