// Everything that the printer can print compiles, for the oldest and the newest device, without
// spilled registers. Skipped where there is no CUDA compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/ir/build.h"
#include "compiler/ir/types.h"
#include "tests/unit/codegen/cuda/kernels.h"
#include "tests/unit/codegen/operators_of.h"
#include "tests/unit/ir/async_products.h"

namespace mlc::codegen {
namespace {

using ir::BufferId;
using ir::ExprRef;
using ir::KernelBuilder;
using testing::HasSubstr;
using testing::Not;

constexpr DType kAllTypes[] = {DType::kF32, DType::kF64,  DType::kF16,      DType::kBF16,
                               DType::kI8,  DType::kU8,   DType::kI16,      DType::kI32,
                               DType::kI64, DType::kBool, DType::kF8E4M3Fn, DType::kF8E5M2};

class CudaCompile : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<build::Nvrtc>> opened = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!opened.ok()) GTEST_SKIP() << opened.status().message();
    nvrtc_ = *std::move(opened);
  }

  build::CudaBinary Compiled(const ir::Kernel& kernel, const std::string& arch) {
    const Result<CudaSource> source = PrintCuda(kernel, CudaTarget(GetParam()));
    if (!source.ok()) {
      ADD_FAILURE() << source.status().ToString();
      return {};
    }
    Result<build::CudaBinary> binary = nvrtc_->Compile(source->text, arch);
    if (!binary.ok()) {
      ADD_FAILURE() << binary.status().ToString() << "\n" << source->text;
      return {};
    }
    return *std::move(binary);
  }
  void ExpectCompiles(const ir::Kernel& kernel) {
    const build::CudaBinary binary = Compiled(kernel, GetParam());
    EXPECT_FALSE(binary.image.empty());
    EXPECT_TRUE(binary.performance_warnings.empty()) << binary.log;
    ASSERT_EQ(binary.resources.size(), kernel.phases.size()) << binary.log;
    for (const build::CudaResources& r : binary.resources) {
      EXPECT_EQ(r.spill_store_bytes, 0) << kernel.name;
      EXPECT_GT(r.registers, 0) << kernel.name;
    }
  }

  std::unique_ptr<build::Nvrtc> nvrtc_;
};

INSTANTIATE_TEST_SUITE_P(Devices, CudaCompile, testing::Values("sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(CudaCompile, EveryKindOfStatement) {
  for (const NamedKernel& named : StatementKernels()) {
    SCOPED_TRACE(named.name);
    ExpectCompiles(named.kernel);
  }
}

TEST_P(CudaCompile, ClustersWhereTheDeviceHasThem) {
  if (std::string_view(GetParam()) == "sm_80") {
    EXPECT_EQ(PrintCuda(ClusterSum(), CudaTarget("sm_80")).status().message(),
              "kernel 'cluster_sum', phase 'cluster_sum_p0': needs clusters of blocks; sm_80 has "
              "none");
    return;
  }
  ExpectCompiles(ClusterSum());
  const std::string ptx = Compiled(ClusterSum(), "compute_90").image;
  EXPECT_THAT(ptx, HasSubstr(".reqnctapercluster 4"));
  EXPECT_THAT(ptx, HasSubstr("ld.shared::cluster.v4.f32"));
  const size_t last_read = ptx.rfind("ld.shared::cluster");
  EXPECT_NE(ptx.find("barrier.cluster.arrive", last_read), std::string::npos);
}

TEST_P(CudaCompile, StatementsOfHopperAlone) {
  for (const NamedKernel& named : HopperKernels()) {
    SCOPED_TRACE(named.name);
    if (CudaTarget(GetParam()).gpu().HasWarpgroupMma()) {
      ExpectCompiles(named.kernel);
    } else {
      EXPECT_FALSE(PrintCuda(named.kernel, CudaTarget(GetParam())).ok());
    }
  }
}

TEST_P(CudaCompile, CopiesThatArriveAtMbarriersOfEveryKind) {
  for (const ir::AsyncProduct& product : ir::AsyncProducts()) {
    SCOPED_TRACE(product.name);
    const Result<ir::Kernel> kernel = ir::Kernel::Parse(product.Text());
    ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
    if (CudaTarget(GetParam()).gpu().HasWarpgroupMma()) {
      ExpectCompiles(*kernel);
    } else {
      EXPECT_FALSE(PrintCuda(*kernel, CudaTarget(GetParam())).ok());
    }
  }
}

TEST_P(CudaCompile, VectorsAreOneInstruction) {
  const build::CudaBinary binary = Compiled(StatementKernels()[1].kernel, "compute_80");
  EXPECT_THAT(binary.image, HasSubstr("ld.global.nc.v4"));
  EXPECT_THAT(binary.image, HasSubstr("st.global.cs.v4"));
  EXPECT_THAT(binary.image, HasSubstr("tanh.approx.f32"));
}

TEST_P(CudaCompile, LoadsAfterTheWaitSeeWhatIsWrittenMeanwhile) {
  const std::string ptx = Compiled(StatementKernels()[3].kernel, "compute_90").image;
  const size_t wait = ptx.find("griddepcontrol.wait");
  if (std::string_view(GetParam()) == "sm_80") {  // launches do not overlap there
    EXPECT_EQ(wait, std::string::npos);
    return;
  }
  ASSERT_NE(wait, std::string::npos);
  EXPECT_THAT(ptx.substr(0, wait), Not(HasSubstr("ld.global")));
  EXPECT_THAT(ptx.substr(wait), HasSubstr("ld.global"));
  EXPECT_THAT(ptx.substr(wait), Not(HasSubstr("ld.global.nc")));
}

TEST_P(CudaCompile, RegistersStayOffMemory) {
  const build::CudaBinary binary = Compiled(MatrixTile(DType::kBF16), GetParam());
  ASSERT_EQ(binary.resources.size(), 1u);
  EXPECT_EQ(binary.resources[0].stack_bytes, 0);
}

// All operators on one type, each into its own part of an output.
ir::Kernel AllOperators(DType dtype, int lanes, bool approximate) {
  KernelBuilder k("all_operators");
  if (approximate) k.Approximate();
  const int64_t count = int64_t{32} * lanes;
  const int64_t all = ScalarOpCount() * count;
  const BufferId a = k.In("a", dtype, count);
  const BufferId b = k.In("b", dtype, count);
  const BufferId c = k.In("c", dtype, count);
  const BufferId condition = k.In("condition", DType::kBool, count);
  const BufferId same = k.Out("same", dtype, all);
  const BufferId truth = k.Out("truth", DType::kBool, all);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef thread) {
    const ExprRef at = thread * lanes;
    for (const ScalarOp op : OperatorsOf(dtype)) {
      std::vector<ExprRef> args;
      if (op == ScalarOp::kSelect) args.push_back(k.Load(condition, at, lanes));
      for (const BufferId operand : {a, b, c}) {
        if (static_cast<int>(args.size()) == InfoOf(op).arity) break;
        args.push_back(k.Load(operand, at, lanes));
      }
      k.Store(InfoOf(op).gives_bool || dtype == DType::kBool ? truth : same,
              at + static_cast<int>(op) * count, ir::MakeApply(op, args));
    }
  });
  return k.Finish();
}

TEST_P(CudaCompile, EveryOperatorOnEveryType) {
  for (const DType dtype : kAllTypes) {
    for (const int lanes : {1, 4}) {
      SCOPED_TRACE(std::string(ToText(dtype)) + " x " + std::to_string(lanes));
      ExpectCompiles(AllOperators(dtype, lanes, false));
    }
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    ExpectCompiles(AllOperators(dtype, 2, true));
  }
}

// From one type to all, and lanes reduced, indexed and masked.
ir::Kernel AllCasts(DType from, int lanes) {
  KernelBuilder k("all_casts");
  const int64_t count = int64_t{32} * lanes;
  const BufferId x = k.In("x", from, count);
  std::vector<BufferId> outs;
  for (const DType to : kAllTypes) {
    outs.push_back(k.Out("to_" + std::string(ToText(to)), to, count));
  }
  const BufferId truth = k.Out("truth", DType::kBool, count);
  const BufferId registers = k.Registers("kept", from, lanes, 2);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef thread) {
    const ExprRef at = thread * lanes;
    k.Set(registers, ir::Int(1), k.Load(x, at, lanes, 1, thread - 3));
    for (size_t i = 0; i < outs.size(); ++i) {
      k.Store(outs[i], at, ir::MakeCast(kAllTypes[i], k.Get(registers, ir::Int(1))), 1, thread + 1);
    }
    k.Store(truth, at, ir::MakeLaneMask(thread - 2, lanes));
    if (from == DType::kBool || IsSmall(from) || lanes == 1) return;
    const ExprRef sum = ir::MakeReduce(
        ScalarOp::kAdd,
        ir::MakeApply(ScalarOp::kAdd, {k.Load(x, at, lanes), ir::MakeLaneIndex(from, lanes)}));
    k.Store(outs[0], at, ir::MakeCast(DType::kF32, ir::MakeBroadcast(sum, lanes)));
  });
  return k.Finish();
}

TEST_P(CudaCompile, EveryCastOfRegistersAndMaskedVectors) {
  for (const DType from : kAllTypes) {
    for (const int lanes : {1, 5, 8}) {
      SCOPED_TRACE(std::string(ToText(from)) + " x " + std::to_string(lanes));
      ExpectCompiles(AllCasts(from, lanes));
    }
  }
}

}  // namespace
}  // namespace mlc::codegen
