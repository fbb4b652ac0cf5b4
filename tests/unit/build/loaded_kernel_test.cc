#include "compiler/build/loaded_kernel.h"

#include <gtest/gtest.h>

#include "compiler/codegen/llvm.h"
#include "compiler/ir/build.h"

namespace mlc::build {
namespace {

ir::Kernel Doubler(const std::string& name) {
  ir::KernelBuilder k(name);
  const ir::BufferId a = k.In("a", DType::kF32, 32);
  const ir::BufferId o = k.Out("o", DType::kF32, 32);
  k.Parallel("i", 2, [&](ir::ExprRef i) {
    // The constant lives in a data section that has to be relocated.
    k.Store(
        o, i * 16,
        ir::MakeApply(ScalarOp::kMul, {k.Load(a, i * 16, 16), ir::Float(DType::kF32, 2.25, 16)}));
  });
  return k.Finish();
}

target::Target Host() {
  target::Target target;
#if defined(__aarch64__)
  target.cpu().arch = "aarch64";
  target.cpu().isa = target::Isa::kNeon;
#endif
  return target;
}

std::string Compile(const std::vector<const ir::Kernel*>& kernels, const target::Target& target) {
  const auto object = codegen::CompileToObject(kernels, target);
  EXPECT_TRUE(object.ok()) << object.status().ToString();
  return object.ok() ? *object : std::string();
}

TEST(LoadObject, RunsEveryKernelOfAnObject) {
  const ir::Kernel one = Doubler("one");
  const ir::Kernel two = Doubler("two");
  const auto loaded = LoadObject(Compile({&one, &two}, Host()));
  ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
  for (const char* name : {"one", "two"}) {
    const auto phases = (*loaded)->Phases(name, 1);
    ASSERT_TRUE(phases.ok()) << phases.status().ToString();
    alignas(64) float in[32], out[32] = {};
    for (int i = 0; i < 32; ++i) in[i] = static_cast<float>(i);
    void* buffers[] = {in, out, nullptr, nullptr};
    (*phases)[0](buffers, 1, 2, 0);
    for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 ? 0.0f : 2.25f * in[i]);
  }
}

TEST(LoadObject, NamesAMissingKernel) {
  const ir::Kernel one = Doubler("one");
  const auto loaded = LoadObject(Compile({&one}, Host()));
  ASSERT_TRUE(loaded.ok());
  const auto phases = (*loaded)->Phases("one", 2);
  ASSERT_FALSE(phases.ok());
  EXPECT_EQ(phases.status(), NotFound("the object has no function one_p1"));
}

TEST(LoadObject, RejectsBytesThatAreNoObjectOfThisMachine) {
  const ir::Kernel one = Doubler("one");
  target::Target other;
  if (Host().cpu().arch == "x86_64") {
    other.cpu().arch = "aarch64";
    other.cpu().isa = target::Isa::kNeon;
  }
  const std::string foreign = Compile({&one}, other);
  const std::string own = Compile({&one}, Host());
  for (const std::string& bytes : {std::string(), std::string("not an object"), foreign,
                                   own.substr(0, 40), own.substr(0, own.size() / 2)}) {
    const auto loaded = LoadObject(bytes);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.status().code(), StatusCode::kDataLoss) << loaded.status().ToString();
  }
  EXPECT_EQ(LoadObject(foreign).status().message().rfind("not a relocatable object of this", 0),
            0u);
}

TEST(LoadObject, ManyObjectsLiveAndDieIndependently) {
  const ir::Kernel one = Doubler("one");
  const std::string object = Compile({&one}, Host());
  std::vector<std::unique_ptr<LoadedObject>> alive;
  for (int i = 0; i < 300; ++i) {
    auto loaded = LoadObject(object);
    ASSERT_TRUE(loaded.ok());
    if (i % 3 == 0) alive.push_back(std::move(*loaded));
  }
  for (const auto& loaded : alive) {
    const auto phases = loaded->Phases("one", 1);
    ASSERT_TRUE(phases.ok());
    alignas(64) float in[32] = {4}, out[32] = {};
    void* buffers[] = {in, out, nullptr, nullptr};
    (*phases)[0](buffers, 0, 2, 0);
    EXPECT_EQ(out[0], 9.0f);
  }
}

}  // namespace
}  // namespace mlc::build
