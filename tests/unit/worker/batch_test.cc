// Kernels that misbehave, written by hand: what the runner says about each, and that the next trial
// does not suffer.
#include "worker/device/cpu/batch.h"

#include <gtest/gtest.h>

#include "compiler/ir/build.h"

namespace mlc::worker {
namespace {

constexpr int64_t kSize = 64;

using Body = std::function<void(ir::KernelBuilder&, ir::BufferId in, ir::BufferId out)>;

// Trials of out = max(in, 0), with kernels of any kind.
class Batch : public ::testing::Test {
 protected:
  void SetUp() override {
    target_ = target::DetectHost(2);
    workload_ = *graph::Workload::Parse(
        "workload v1 tolerance=1e-04 {\n%0 = input() : f32[64]\n%1 = constant(){value=0.0} : "
        "f32[]\n"
        "%2 = max(%0, %1) : f32[64]\nreturn %2\n}\n");
    memory_.emplace(*SharedMemory::Create(ReferenceLayoutOf(workload_).bytes));
    ASSERT_TRUE(MakeReference(workload_, 1, memory_->bytes()).ok());
    memory_->Protect();
    options_.threads = 2;
    options_.run_timeout_ms = 60'000;
  }

  static void Correct(ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    b.Parallel("i", kSize, [&](ir::ExprRef i) {
      b.Store(out, i, ir::MakeApply(ScalarOp::kMax, {b.Load(in, i), ir::Float(DType::kF32, 0)}));
    });
  }

  void Add(const Body& body, double early_stop_ns = 0) {
    ir::KernelBuilder b("trial");
    const ir::BufferId in = b.In("x", DType::kF32, kSize);
    const ir::BufferId out = b.Out("y", DType::kF32, kSize);
    body(b, in, out);
    schedule::LoweredKernel lowered;
    lowered.kernel = b.Finish();
    lowered.bindings = {{schedule::Binding::Kind::kOperand, 0},
                        {schedule::Binding::Kind::kOutput, 0}};
    Result<BuiltKernel> built = Compile(lowered, target_);
    ASSERT_TRUE(built.ok()) << built.status().ToString();
    kernels_.push_back(std::make_unique<BuiltKernel>(*std::move(built)));
    tasks_.push_back({&workload_, kernels_.back().get(), memory_->bytes().data(), early_stop_ns});
  }

  std::vector<Measurement> Run() {
    std::vector<Measurement> measurements;
    for (TimedMeasurement& one : RunBatch(tasks_, options_, machine_)) {
      EXPECT_GT(one.took_s, 0);
      measurements.push_back(std::move(one.measurement));
    }
    return measurements;
  }

  target::Target target_;
  graph::Workload workload_;
  std::optional<SharedMemory> memory_;
  std::vector<std::unique_ptr<BuiltKernel>> kernels_;
  std::vector<RunTask> tasks_;
  BatchOptions options_;
  MachineState machine_;
};

TEST_F(Batch, CorrectKernelsAreTimed) {
  Add(Correct);
  Add(Correct);
  for (const Measurement& m : Run()) {
    EXPECT_EQ(m.outcome, Outcome::kOk) << m.detail;
    EXPECT_GT(m.median_ns, 0);
    EXPECT_LE(m.p10_ns, m.median_ns);
    EXPECT_LE(m.median_ns, m.p90_ns);
    EXPECT_GT(m.runs, 0);
    EXPECT_EQ(m.max_error, 0);
    EXPECT_EQ(m.detail, "");
  }
}

TEST_F(Batch, FirstTrialsAreTimedTwice) {
  Add(Correct);
  EXPECT_GT(Run()[0].runs, TimingOptions().max_samples);
}

TEST(RotationBytesFor, OutgrowsASmallLastCacheAndLeavesALargeOneAlone) {
  target::Target target;
  target.cpu().l3_bytes = int64_t{32} << 20;
  EXPECT_EQ(RotationBytesFor(target), int64_t{48} << 20);
  target.cpu().l3_bytes = int64_t{4} << 20;
  EXPECT_EQ(RotationBytesFor(target), int64_t{24} << 20);
  target.cpu().l3_bytes = int64_t{256} << 20;
  EXPECT_EQ(RotationBytesFor(target), int64_t{24} << 20);
}

TEST(RotationBytesFor, OutgrowsTheSecondCachesOfAllThreads) {
  target::Target target;
  target.cpu().l2_bytes = int64_t{2} << 20;
  target.cpu().l3_bytes = int64_t{300} << 20;
  target.cpu().threads = 2;
  EXPECT_EQ(RotationBytesFor(target), int64_t{24} << 20);
  target.cpu().threads = 32;
  EXPECT_EQ(RotationBytesFor(target), int64_t{384} << 20);
  target.cpu().threads = 256;
  EXPECT_EQ(RotationBytesFor(target), int64_t{450} << 20) << "beyond the last cache, too";
}

TEST_F(Batch, CrashesAreTheirOwnKernels) {
  Add(Correct);
  Add([](ir::KernelBuilder& b, ir::BufferId, ir::BufferId out) {
    b.Parallel("i", 1, [&](ir::ExprRef) {
      b.Store(out, ir::Int(int64_t{1} << 40), ir::Float(DType::kF32, 1));
    });
  });
  Add(Correct);
  const std::vector<Measurement> results = Run();
  EXPECT_EQ(results[0].outcome, Outcome::kOk);
  EXPECT_EQ(results[1].outcome, Outcome::kRunError);
  EXPECT_NE(results[1].detail.find("SIGSEGV"), std::string::npos) << results[1].detail;
  EXPECT_EQ(results[2].outcome, Outcome::kOk);
}

TEST_F(Batch, WritingAnInputCrashes) {
  Add(Correct);
  // The kernel takes the input's memory for its output.
  kernels_[0]->bindings[1] = {schedule::Binding::Kind::kOperand, 0};
  const Measurement m = Run()[0];
  EXPECT_EQ(m.outcome, Outcome::kRunError);
  EXPECT_NE(m.detail.find("SIGSEGV"), std::string::npos) << m.detail;
}

TEST_F(Batch, HangsEndWithTheWatchdog) {
  options_.run_timeout_ms = 5000;
  Add([](ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    b.Parallel("i", 2, [&](ir::ExprRef i) {
      b.For("k", int64_t{1} << 60, [&](ir::ExprRef) { b.Store(out, i, b.Load(in, i)); });
    });
  });
  Add(Correct);
  const std::vector<Measurement> results = Run();
  EXPECT_EQ(results[0].outcome, Outcome::kRunTimeout);
  EXPECT_EQ(results[0].detail, "no result after 5000 ms");
  EXPECT_EQ(results[1].outcome, Outcome::kOk) << results[1].detail;
}

TEST_F(Batch, WrongValuesAreFound) {
  Add([](ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    b.Parallel("i", kSize, [&](ir::ExprRef i) { b.Store(out, i, b.Load(in, i)); });
  });
  Add(Correct);
  const std::vector<Measurement> results = Run();
  EXPECT_EQ(results[0].outcome, Outcome::kWrongResult);
  EXPECT_EQ(results[0].detail.substr(0, 19), "output 0: element [") << results[0].detail;
  EXPECT_GT(results[0].max_error, 0);
  EXPECT_EQ(results[0].median_ns, 0);
  EXPECT_EQ(results[1].outcome, Outcome::kOk);
}

TEST_F(Batch, ElementsLeftOutAreFound) {
  Add([](ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    b.Parallel("i", kSize - 1, [&](ir::ExprRef i) {
      b.Store(out, i, ir::MakeApply(ScalarOp::kMax, {b.Load(in, i), ir::Float(DType::kF32, 0)}));
    });
  });
  const Measurement m = Run()[0];
  EXPECT_EQ(m.outcome, Outcome::kWrongResult);
  EXPECT_NE(m.detail.find("element [63] is nan"), std::string::npos) << m.detail;
}

TEST_F(Batch, WritesPastTheEndAreFound) {
  Add([](ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    Correct(b, in, out);
    b.Parallel("j", 1,
               [&](ir::ExprRef) { b.Store(out, ir::Int(kSize), ir::Float(DType::kF32, 1)); });
  });
  const Measurement m = Run()[0];
  EXPECT_EQ(m.outcome, Outcome::kWrongResult);
  EXPECT_EQ(m.detail, "writes past the end of output 0");
}

// Right the first time, when scratch is still poisoned, and wrong ever after.
TEST_F(Batch, ResultsMustNotDependOnOldScratch) {
  Add([](ir::KernelBuilder& b, ir::BufferId in, ir::BufferId out) {
    const ir::BufferId seen = b.Workspace("seen", DType::kI32, 1);
    const auto wide = [&](ir::ExprRef e) { return ir::MakeCast(DType::kF32, e); };
    b.Parallel("i", kSize, [&](ir::ExprRef i) {
      const ir::ExprRef right =
          ir::MakeApply(ScalarOp::kMax, {b.Load(in, i), ir::Float(DType::kF32, 0)});
      const ir::ExprRef again = ir::MakeApply(
          ScalarOp::kAdd, {wide(b.Load(seen, ir::Int(0))), ir::Float(DType::kF32, 1)});
      b.Store(out, i, ir::MakeApply(ScalarOp::kAdd, {right, again}));
    });
    b.Parallel("j", 1, [&](ir::ExprRef) {
      b.Store(seen, ir::Int(0), ir::MakeCast(DType::kI32, ir::Float(DType::kF32, 7)));
    });
  });
  EXPECT_EQ(Run()[0].outcome, Outcome::kWrongResult);
}

TEST_F(Batch, KernelsThatLaterOverwriteTheirInputAreWrong) {
  ir::KernelBuilder b("trial");
  const ir::BufferId out = b.Out("y", DType::kF32, kSize);
  const ir::BufferId in = b.Out("x", DType::kF32, kSize);  // the operand's memory
  b.Parallel("once", 1, [&](ir::ExprRef) {
    // The first time, the output is poisoned.
    const ir::ExprRef poisoned = ir::MakeApply(ScalarOp::kIsNan, {b.Load(out, ir::Int(0))});
    b.If(ir::MakeApply(ScalarOp::kNot, {poisoned}),
         [&] { b.Store(in, ir::Int(kSize - 1), b.Load(in, ir::Int(0))); });
  });
  Correct(b, in, out);
  schedule::LoweredKernel lowered;
  lowered.kernel = b.Finish();
  lowered.bindings = {{schedule::Binding::Kind::kOutput, 0},
                      {schedule::Binding::Kind::kOperand, 0}};
  kernels_.push_back(std::make_unique<BuiltKernel>(*Compile(lowered, target_)));
  tasks_.push_back({&workload_, kernels_.back().get(), memory_->bytes().data(), 0});
  const Measurement m = Run()[0];
  EXPECT_EQ(m.outcome, Outcome::kWrongResult);
  EXPECT_EQ(m.detail, "writes to an input");
}

TEST_F(Batch, SlowKernelsStopEarly) {
  Add(Correct, 0.001);
  const Measurement m = Run()[0];
  EXPECT_EQ(m.outcome, Outcome::kTooSlow);
  EXPECT_GT(m.median_ns, 0);
  EXPECT_EQ(m.cold_ns, 0);
}

TEST_F(Batch, ObjectsThatCannotBeLoadedAreBuildErrors) {
  Add(Correct);
  kernels_[0]->object = "no object";
  EXPECT_EQ(Run()[0].outcome, Outcome::kBuildError);
}

TEST_F(Batch, TheProbeReadsTheMachine) {
  const Result<std::string> kernels = BuildProbeKernels(target_);
  ASSERT_TRUE(kernels.ok()) << kernels.status().ToString();
  const Result<MachineProbe> probe = MachineProbe::Create(*kernels, target_);
  ASSERT_TRUE(probe.ok());
  options_.probe = &*probe;
  Add(Correct);
  const Measurement m = Run()[0];
  EXPECT_GT(m.clock_mhz, 100);
  EXPECT_LT(m.clock_mhz, 10'000);
  EXPECT_GT(m.machine_speed, 0);
  EXPECT_LE(m.machine_speed, 1);
  EXPECT_GT(machine_.fma.best(), 0);
  EXPECT_GT(machine_.l1.best(), 0);
}

}  // namespace
}  // namespace mlc::worker
