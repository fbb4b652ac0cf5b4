// What the CUDA printer guarantees of its text; whole texts are golden files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/codegen/cuda/cuda.h"
#include "compiler/ir/build.h"
#include "tests/unit/codegen/cuda/kernels.h"
#include "tests/unit/ir/async_products.h"

namespace mlc::codegen {
namespace {

using ir::BufferId;
using ir::ExprRef;
using ir::Int;
using ir::KernelBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string Printed(const ir::Kernel& kernel, const std::string& arch = "sm_90a") {
  const Result<CudaSource> source = PrintCuda(kernel, CudaTarget(arch));
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  return source.ok() ? source->text : "";
}

// y[f(thread)] = x[f(thread)] of vectors.
template <typename Index>
std::string Copy(int lanes, int64_t size, const Index& index, ExprRef mask = {}) {
  KernelBuilder k("copy");
  const BufferId x = k.In("x", DType::kF32, size);
  const BufferId y = k.Out("y", DType::kF32, size);
  k.Launch(4, 32, 0, [&](ExprRef block, ExprRef thread) {
    const ExprRef at = index(block, thread);
    k.Store(y, at, k.Load(x, at, lanes, 1, mask), 1, mask);
  });
  return Printed(k.Finish());
}

TEST(CudaPrint, AccessesAreAsWideAsTheIndexProves) {
  const auto by = [](int64_t factor, int64_t offset) {
    return [=](ExprRef, ExprRef thread) { return thread * factor + offset; };
  };
  EXPECT_THAT(Copy(8, 1024, by(8, 0)), HasSubstr("LoadF32x4(V1 + 4, &x[T0 + 4])"));
  const std::string halves = Copy(4, 1024, by(4, 2));
  EXPECT_THAT(halves, HasSubstr("LoadF32x2"));
  EXPECT_THAT(halves, Not(HasSubstr("F32x4")));
  EXPECT_THAT(Copy(4, 1024, by(4, 1)), Not(HasSubstr("F32x")));
  EXPECT_THAT(Copy(3, 1024, by(3, 0)), Not(HasSubstr("F32x")));
}

// Codes of x as codes again: y = u8(min(max(round(x / 2), 0), 255)), `lanes` a thread.
std::string Requantised(int lanes) {
  KernelBuilder k("codes");
  const BufferId x = k.In("x", DType::kU8, 1024);
  const BufferId y = k.Out("y", DType::kU8, 1024);
  k.Launch(4, 32, 0, [&](ExprRef block, ExprRef thread) {
    const ExprRef at = (block * 32 + thread) * int64_t{lanes};
    const auto number = [&](double value) { return ir::Float(DType::kF32, value, lanes); };
    ExprRef code = ir::MakeCast(DType::kF32, k.Load(x, at, lanes));
    code = ir::MakeApply(ScalarOp::kMul, {code, number(0.5)});
    code = ir::MakeApply(ScalarOp::kRound, {code});
    code = ir::MakeApply(ScalarOp::kMax, {code, number(0)});
    code = ir::MakeApply(ScalarOp::kMin, {code, number(255)});
    k.Store(y, at, ir::MakeCast(DType::kU8, code));
  });
  return Printed(k.Finish());
}

TEST(CudaPrint, RoundsToBytesWithoutConversions) {
  const std::string words = Requantised(8);
  EXPECT_THAT(words, HasSubstr("RoundToLowByte(U8LaneToFloat(V"));
  EXPECT_THAT(words, HasSubstr(", 0.0f, 12582912.0f, 12583167.0f)"));
  EXPECT_THAT(words, Not(HasSubstr("rintf")));
  EXPECT_THAT(words, HasSubstr("PackBytes"));
  EXPECT_THAT(Requantised(1), HasSubstr("RoundToU8("));
}

TEST(CudaPrint, PairsOfBytesAreHalvesOfAWord) {
  const std::string pairs = Requantised(2);
  EXPECT_THAT(pairs, HasSubstr("= *(const unsigned short*)&x["));
  EXPECT_THAT(pairs, HasSubstr("PackTwoBytes("));
  EXPECT_THAT(pairs, HasSubstr("*(unsigned short*)&y["));
}

TEST(CudaPrint, MaskThatCutsWholeVectorsNeedsNoElements) {
  const std::string whole = Copy(
      4, 1024, [](ExprRef, ExprRef thread) { return thread * 4; }, Int(8));
  EXPECT_THAT(whole, HasSubstr("if (8 > 0) LoadF32x4"));
  EXPECT_THAT(whole, Not(HasSubstr("else")));
  const std::string partial = Copy(
      4, 1024, [](ExprRef, ExprRef thread) { return thread * 4; }, Int(3));
  EXPECT_THAT(partial, HasSubstr("if (3 >= 4)"));
  EXPECT_THAT(partial, HasSubstr("if (2 < 3) V1[2] = x[T0 + 2];"));
}

TEST(CudaPrint, IndicesAre32BitWhereTheyFit) {
  const auto index = [](int64_t factor) {
    return [=](ExprRef block, ExprRef thread) { return block * factor + thread; };
  };
  EXPECT_THAT(Copy(1, 1024, index(32)), Not(HasSubstr("long long")));
  EXPECT_THAT(Copy(1, int64_t{1} << 33, index(int64_t{1} << 31)),
              HasSubstr("(long long)block_index * 2147483648ll + (long long)thread_index"));
}

TEST(CudaPrint, DivisionsOfIndicesAreUnsigned) {
  const std::string text =
      Copy(1, 1024, [](ExprRef block, ExprRef thread) { return ir::FloorDiv(block + thread, 7); });
  EXPECT_THAT(text, HasSubstr("(int)((unsigned)(block_index + thread_index) / 7u)"));
  EXPECT_THAT(
      Copy(1, 1024, [](ExprRef, ExprRef thread) { return ir::FloorDiv(thread - 9, 7) + 2; }),
      HasSubstr("FloorDivide(thread_index - 9, 7) + 2"));
}

TEST(CudaPrint, LaunchesSayWhatToLaunch) {
  const Result<CudaSource> source = PrintCuda(MatrixTile(DType::kBF16), CudaTarget("sm_90a"));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  ASSERT_EQ(source->launches.size(), 1u);
  EXPECT_EQ(source->launches[0].function, "tile_bf16_p0");
  EXPECT_EQ(source->launches[0].grid, target::Dim3(1));
  EXPECT_EQ(source->launches[0].block, target::Dim3(128));
  EXPECT_EQ(source->launches[0].block_bytes, 2 * (64 + 32) * 24 * 2);
  EXPECT_EQ(source->workspace_bytes, 0);
  EXPECT_EQ(source->counter_bytes, 0);
}

TEST(CudaPrint, TensorMapsAreDataAndParameters) {
  const Result<CudaSource> source = PrintCuda(HopperKernels()[2].kernel, CudaTarget("sm_90a"));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  ASSERT_EQ(source->tensor_maps.size(), 1u);
  const mlc_tensor_map& map = source->tensor_maps[0];
  EXPECT_EQ(map.argument, 0);
  EXPECT_EQ(map.type, MLC_TENSOR_MAP_BF16);
  EXPECT_EQ(map.byte_offset, 0);
  EXPECT_EQ(map.rank, 2);
  EXPECT_THAT(map.sizes, ElementsAre(256, 64, 0, 0, 0));
  EXPECT_THAT(map.pitches, ElementsAre(512, 0, 0, 0));
  EXPECT_THAT(map.boxes, ElementsAre(64, 64, 0, 0, 0));
  EXPECT_THAT(map.steps, ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(map.swizzle, MLC_TENSOR_MAP_SWIZZLE_128);
  EXPECT_EQ(source->workspace_bytes, 0);
  EXPECT_THAT(source->text, HasSubstr("    const __grid_constant__ TensorMap Map0) {"));
  EXPECT_THAT(source->text, HasSubstr("CopyTensor(&a_tiles[stage_1 * 4096], &Map0, "));
}

// Every second row, every second of the outermost matrices.
TEST(CudaPrint, BoxesHaveMapsOfTheirDimensions) {
  const Result<ir::Kernel> kernel = ir::Kernel::Parse(
      ir::AsyncProduct{.name = "k", .depth = 200, .pitch = 208, .boxes = true}.Text());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  const Result<CudaSource> source = PrintCuda(*kernel, CudaTarget("sm_90a"));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  ASSERT_EQ(source->tensor_maps.size(), 1u);
  const mlc_tensor_map& map = source->tensor_maps[0];
  EXPECT_EQ(map.rank, 4);
  EXPECT_THAT(map.sizes, ElementsAre(200, 4, 5, 3, 0));
  EXPECT_THAT(map.pitches, ElementsAre(416, 1664, 8320, 0));
  EXPECT_THAT(map.boxes, ElementsAre(64, 3, 8, 7, 0));
  EXPECT_THAT(map.steps, ElementsAre(2, 1, 2, 0));
  EXPECT_THAT(source->text, HasSubstr("CopyBox4("));
}

TEST(CudaPrint, EachPhaseGetsTheSharedMemoryItUses) {
  KernelBuilder k("phases");
  const BufferId y = k.Out("y", DType::kF32, 64);
  const BufferId scratch = k.Workspace("scratch", DType::kF32, 100);
  const BufferId a = k.SharedMemory("a", DType::kF32, 33);
  const BufferId b = k.SharedMemory("b", DType::kF64, 32);
  const BufferId over = k.SharedMemory("over", DType::kF64, 32, a);
  const BufferId counter = k.Counter("counter", 40);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef t) {
    k.Store(a, t, ir::Float(DType::kF32, 1));
    k.Store(over, t, ir::Float(DType::kF64, 1));
    k.Arrive("last", counter, Int(39), 1);
    k.Store(scratch, t, ir::Float(DType::kF32, 2));
  });
  k.Launch(1, 64, 0, [&](ExprRef, ExprRef t) {
    k.Store(b, ir::Mod(t, 32), ir::Float(DType::kF64, 3));
    k.Store(y, t, k.Load(scratch, ir::Mod(t, 32)));
  });
  const Result<CudaSource> source = PrintCuda(k.Finish(), CudaTarget("sm_80"));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  ASSERT_EQ(source->launches.size(), 2u);
  EXPECT_EQ(source->launches[0].block_bytes, 256);  // the larger of a and what overlays it
  EXPECT_EQ(source->launches[1].block_bytes, 256);
  EXPECT_EQ(source->launches[1].block, target::Dim3(64));
  EXPECT_EQ(source->workspace_bytes, 512);
  EXPECT_EQ(source->counter_bytes, 256);
  EXPECT_THAT(source->text, HasSubstr("double* const over = (double*)(SharedMemory + 0);"));
}

TEST(CudaPrint, OverlappedLaunchesAreForNewDevicesOnly) {
  const ir::Kernel kernel = StatementKernels()[3].kernel;
  EXPECT_THAT(Printed(kernel, "sm_90a"), HasSubstr("AwaitInputs();\n  x = NewlyWritten(x);"));
  EXPECT_THAT(Printed(kernel, "sm_80"), Not(HasSubstr("AwaitInputs")));
  EXPECT_THAT(Printed(kernel, "sm_80"), Not(HasSubstr("griddepcontrol")));
}

// What they hold is written while the kernel runs: the cache for read-only data may be stale.
TEST(CudaPrint, InputsOfOverlappedLaunchesAreNoReadOnlyData) {
  const ir::Kernel kernel = StatementKernels()[3].kernel;
  EXPECT_THAT(Printed(kernel, "sm_90a"), HasSubstr("x = NewlyWritten(x);"));
  EXPECT_THAT(Printed(kernel, "sm_90a"),
              HasSubstr("asm volatile(\"\" : \"+l\"(address) :: \"memory\");"));
  EXPECT_THAT(Printed(kernel, "sm_90a"), Not(HasSubstr("__ldg")));
}

TEST(CudaPrint, NothingIsIncluded) {
  for (const NamedKernel& named : StatementKernels()) {
    const std::string text = Printed(named.kernel);
    EXPECT_THAT(text, Not(HasSubstr("#include"))) << named.name;
    EXPECT_EQ(text, Printed(named.kernel)) << named.name << " is printed differently again";
  }
}

void ExpectRefused(const ir::Kernel& kernel, const target::Target& target, const char* why) {
  const Result<CudaSource> source = PrintCuda(kernel, target);
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(source.status().message(), HasSubstr(why));
}

TEST(CudaPrint, RefusesWhatTheDeviceCannotRun) {
  KernelBuilder k("big");
  const BufferId memory = k.SharedMemory("memory", DType::kF32, 50000);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef t) { k.Store(memory, t, ir::Float(DType::kF32, 0)); });
  const ir::Kernel big = k.Finish();
  ExpectRefused(big, CudaTarget("sm_80"), "needs 200064 bytes of memory in a block; sm_80 has");
  EXPECT_TRUE(PrintCuda(big, CudaTarget("sm_90a")).ok());
  ExpectRefused(big, target::Target{}, "CUDA C++ needs a CUDA target");
}

TEST(CudaPrint, ProductsOfWarpgroupsAreForHopper) {
  const ir::Kernel kernel = HopperKernels()[0].kernel;
  ExpectRefused(kernel, CudaTarget("sm_80"), "multiplies by warpgroup_mma, which sm_80 lacks");
  const Result<CudaSource> source = PrintCuda(kernel, CudaTarget("sm_90a"));
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  // Tiles begin at multiples of 1024 bytes, whatever lies before them.
  EXPECT_THAT(source->text, HasSubstr("(unsigned short*)(SharedMemory + 1024);"));
  EXPECT_THAT(source->text, HasSubstr("__align__(1024)"));
  EXPECT_THAT(source->text, HasSubstr("m64n16k16.f32.f16.f16"));
}

TEST(CudaPrint, RefusesKernelsWithoutThreads) {
  KernelBuilder k("cpu");
  const BufferId y = k.Out("y", DType::kF32, 4);
  k.Parallel("i", 4, [&](ExprRef i) { k.Store(y, i, ir::Float(DType::kF32, 0)); });
  ExpectRefused(k.Finish(), CudaTarget("sm_90a"), "has no threads loop");
}

}  // namespace
}  // namespace mlc::codegen
